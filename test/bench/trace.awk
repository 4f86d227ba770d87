# From the raw figures of steps.sh to a line; exits 1 if the target is missed.
# Goes with median.awk.
BEGIN {
	FS = OFS = "\t"
	goal = 1.2
}

NR == 1 { next }
{
	took[$1, $2] = $3
	if ($1 > pairs)
		pairs = $1
}

END {
	for (p = 1; p <= pairs; p++) {
		list = list " " took[p, "many"] / took[p, "few"]
		many = many " " took[p, "many"]
		few = few " " took[p, "few"]
	}
	ratio = median(list)
	low = lowest
	high = highest
	verdict = ratio <= goal ? "ok" : "MISSED"
	printf "trace among many %.2f ms, among few %.2f ms: ratio %.2f (%.2f-%.2f), target <=%s %s\n",
		median(many), median(few), ratio, low, high, goal, verdict
	print "many_ms", "few_ms", "ratio", "lowest", "highest" > summary
	print median(many), median(few), ratio, low, high > summary
	exit verdict == "MISSED"
}
