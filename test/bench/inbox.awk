# From the raw figures of inbox.sh to a table; exits 1 if a target is missed.
# Goes with median.awk.
BEGIN {
	FS = OFS = "\t"
	page_goal = 1.5
	bulk_goal = 5
}

NR == 1 { next }
{
	if ($3 > pairs)
		pairs = $3
	if (!(($1, $2) in seen)) {
		seen[$1, $2] = 1
		rows[++count] = $1 SUBSEP $2
	}
	figure[$1, $2, $4, $3] = $5
	all[$1, $2, $4] = all[$1, $2, $4] " " $5
}

function line(what, how, base, measured, list, goal, at_least,    r, verdict) {
	r = median(list)
	verdict = (at_least ? r >= goal : r < goal) ? "ok" : "MISSED"
	if (verdict != "ok")
		missed = 1
	printf "%-12s %-9s %9.3f %9.3f   %-6.3f %-15s %s\n", what, how, base, measured, r, sprintf("%.3f-%.3f", lowest, highest), (at_least ? ">= " : "< ") goal " " verdict
	print what, how, base, measured, r, lowest, highest, verdict > summary
}

function header(what, how, base, measured) {
	printf "\n%-12s %-9s %9s %9s   %-6s %-15s %s\n", what, how, base, measured, "ratio", "lowest-highest", "target"
}

# how much longer a page takes where many wait
function page(what, how,    p, list, few, many) {
	for (p = 1; p <= pairs; p++)
		list = list " " figure[what, how, "many", p] / figure[what, how, "few", p]
	few = median(all[what, how, "few"])
	many = median(all[what, how, "many"])
	line(what, how, few, many, list, page_goal, 0)
}

# how much faster a call for many is than calls for one
function bulk(what, how,    p, list, alone, verdict, single, many) {
	split(what, verdict, " ")
	alone = "single " verdict[1]
	for (p = 1; p <= pairs; p++)
		list = list " " figure[alone, how, "single", p] / figure[what, how, "bulk", p]
	single = median(all[alone, how, "single"])
	many = median(all[what, how, "bulk"])
	line(what, how, single, many, list, bulk_goal, 1)
}

END {
	print "what", "how", "base_ms", "measured_ms", "ratio", "lowest", "highest", "verdict" > summary
	header("ms a page", "mode", "few", "many")
	for (i = 1; i <= count; i++) {
		split(rows[i], key, SUBSEP)
		if ((key[1], key[2], "few") in all)
			page(key[1], key[2])
	}
	header("ms each", "notify", "decide", "_many")
	for (i = 1; i <= count; i++) {
		split(rows[i], key, SUBSEP)
		if ((key[1], key[2], "bulk") in all)
			bulk(key[1], key[2])
	}
	exit missed
}
