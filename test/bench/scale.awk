# From the raw figures of scale.sh to a table; exits 1 if the target is missed.
# Goes with median.awk.
BEGIN {
	FS = OFS = "\t"
	goal = 1.15
	split("propose decide consume complete CPU", steps, " ")
}

NR == 1 { next }
{
	if ($2 > pairs)
		pairs = $2
	for (i = 1; i <= 4; i++) {
		figure[$1, i, $3, $2] = $(4 + i)
		all[$1, i, $3] = all[$1, i, $3] " " $(4 + i)
	}
	figure[$1, 5, $3, $2] = $4 / 1000
	all[$1, 5, $3] = all[$1, 5, $3] " " $4 / 1000
}

function one(sync, i,    p, list, r, verdict) {
	for (p = 1; p <= pairs; p++)
		list = list " " figure[sync, i, "scale_many", p] / figure[sync, i, "scale_few", p]
	few = median(all[sync, i, "scale_few"])
	many = median(all[sync, i, "scale_many"])
	r = median(list)
	verdict = ""
	if (i == 2 || i == 3) {
		verdict = r < goal ? "ok" : "MISSED"
		if (r >= goal)
			missed = 1
	}
	printf "%-9s %-4s %9.3f %9.3f   %-6.3f %-15s %s\n", steps[i], sync, few, many, r, sprintf("%.3f-%.3f", lowest, highest), verdict == "" ? "" : "< " goal " " verdict
	print steps[i], sync, few, many, r, lowest, highest, verdict > summary
}

END {
	print "step", "sync", "few_ms", "many_ms", "ratio", "lowest", "highest", "verdict" > summary
	printf "\n%-9s %-4s %9s %9s   %-6s %-15s %s\n", "ms of", "sync", "few", "many", "ratio", "lowest-highest", "target"
	for (i = 1; i <= 5; i++)
		one("off", i)
	for (i = 1; i <= 5; i++)
		one("on", i)
	exit missed
}
