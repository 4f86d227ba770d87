# From the raw figures of steps.sh to a table; exits 1 if a target is missed.
# Goes with median.awk.
BEGIN {
	FS = OFS = "\t"
	goal = 1.3
}

NR == 1 { next }
{
	key = $1 SUBSEP $2 SUBSEP $3
	if (!(key in seen)) {
		seen[key] = 1
		keys[++nkeys] = key
	}
	if ($4 > pairs)
		pairs = $4
	tps[key, $5, $4] = $6
	cpu[key, $5, $4] = $7
}

# How much longer ours takes than the other.
function longer(key,    p, list) {
	for (p = 1; p <= pairs; p++)
		list = list " " tps[key, "bare", p] / tps[key, "ours", p]
	return median(list)
}

function dearer(key,    p, list) {
	for (p = 1; p <= pairs; p++)
		list = list " " cpu[key, "ours", p] / cpu[key, "bare", p]
	return median(list)
}

function middle(key, side,    p, list) {
	for (p = 1; p <= pairs; p++)
		list = list " " tps[key, side, p]
	return median(list)
}

END {
	print "counters", "sync", "clients", "ours_tps", "bare_tps", "ratio", "lowest", "highest", "cpu_ratio" > summary
	printf "\n%-9s %-5s %-8s %10s %10s   %-7s %-13s %-14s %s\n", "counters", "sync", "clients", "ours tps", "bare tps", "ratio", "lowest-highest", "target", "CPU time"
	for (k = 1; k <= nkeys; k++) {
		split(keys[k], part, SUBSEP)
		ratio = longer(keys[k])
		low = lowest
		high = highest
		verdict = ratio <= goal ? "ok" : "MISSED"
		if (verdict == "MISSED")
			missed = 1
		printf "%-9s %-5s %-8s %10.1f %10.1f   %-7.3f %-13s <=%s %-10s %.3f\n", part[1], part[2], part[3], middle(keys[k], "ours"), middle(keys[k], "bare"), ratio, sprintf("%.2f-%.2f", low, high), goal, verdict, dearer(keys[k])
		print part[1], part[2], part[3], middle(keys[k], "ours"), middle(keys[k], "bare"), ratio, low, high, dearer(keys[k]) > summary
	}
	exit missed
}
