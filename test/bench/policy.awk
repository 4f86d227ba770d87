# From the raw figures of policy.sh to a table; exits 1 if a target is missed.
# Goes with median.awk.
BEGIN {
	FS = OFS = "\t"
	n = split("rules_1/unregistered rules_20/unregistered rules_200/unregistered many_unregistered/unregistered many_20/rules_20 many_cold/rules_20", comparisons, " ")
	goal["rules_20/unregistered"] = 1.3
}

NR == 1 { next }
{
	if ($2 > pairs)
		pairs = $2
	cpu[$1, $3, $2] = $4
	latency[$1, $3, $2] = $5
}

function ratios(figure, sync, a, b,    p, list) {
	for (p = 1; p <= pairs; p++)
		list = list " " figure[sync, a, p] / figure[sync, b, p]
	return median(list)
}

function middle(figure, sync, side,    p, list) {
	for (p = 1; p <= pairs; p++)
		list = list " " figure[sync, side, p]
	return median(list)
}

function one(sync, c,    ab, r, low, high, by_cpu, verdict) {
	split(comparisons[c], ab, "/")
	by_cpu = ratios(cpu, sync, ab[1], ab[2])
	r = ratios(latency, sync, ab[1], ab[2])
	low = lowest
	high = highest
	if (comparisons[c] in goal) {
		verdict = r <= goal[comparisons[c]] ? "ok" : "MISSED"
		if (verdict == "MISSED")
			missed = 1
	}
	printf "%-31s %-4s %8.3f %8.3f   %-6.3f %-13s %-8s %.3f\n", comparisons[c], sync, middle(latency, sync, ab[1]), middle(latency, sync, ab[2]), r, sprintf("%.3f-%.3f", low, high), verdict == "" ? "" : "<=" goal[comparisons[c]] " " verdict, by_cpu
	print comparisons[c], sync, middle(latency, sync, ab[1]), middle(latency, sync, ab[2]), r, low, high, verdict, by_cpu > summary
}

END {
	print "comparison", "sync", "ms", "against_ms", "ratio", "lowest", "highest", "verdict", "cpu_ratio" > summary
	printf "\n%-31s %-4s %8s %8s   %-6s %-13s %-8s %s\n", "propose", "sync", "ms", "against", "ratio", "lowest-highest", "target", "CPU"
	for (c = 1; c <= n; c++)
		one("off", c)
	for (c = 1; c <= n; c++)
		one("on", c)
	exit missed
}
