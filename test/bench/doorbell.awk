# From the raw figures of doorbell.sh to a table; exits 1 if a target is missed.
# Goes with median.awk.
BEGIN {
	FS = OFS = "\t"
	goal = 0.95
}

NR == 1 { next }
{
	key = $1 SUBSEP $2
	if (!(key in seen)) {
		seen[key] = 1
		keys[++nkeys] = key
	}
	if ($3 > pairs)
		pairs = $3
	tps[$1, $2, $4, $3] = $5
}

function ratios(key, side,    p, list) {
	for (p = 1; p <= pairs; p++)
		list = list " " tps[key, side, p] / tps[key, "off", p]
	return median(list)
}

function middle(key, side,    p, list) {
	for (p = 1; p <= pairs; p++)
		list = list " " tps[key, side, p]
	return median(list)
}

END {
	print "sync/listeners", "clients", "off_tps", "worker_ratio", "lowest", "highest", "transaction_ratio" > summary
	printf "\n%-15s %-8s %10s   %-7s %-13s %-10s %s\n", "sync/listeners", "clients", "off tps", "worker", "lowest-highest", "target", "transaction"
	for (k = 1; k <= nkeys; k++) {
		split(keys[k], part, SUBSEP)
		worker = ratios(keys[k], "worker")
		low = lowest
		high = highest
		verdict = worker >= goal ? "ok" : "MISSED"
		if (verdict == "MISSED")
			missed = 1
		transaction = ratios(keys[k], "transaction")
		printf "%-15s %-8s %10.1f   %-7.3f %-13s >=%s %-6s %.3f\n", part[1], part[2], middle(keys[k], "off"), worker, sprintf("%.2f-%.2f", low, high), goal, verdict, transaction
		print part[1], part[2], middle(keys[k], "off"), worker, low, high, transaction > summary
	}
	exit missed
}
