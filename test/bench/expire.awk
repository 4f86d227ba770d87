# From the raw figures of expire.sh to a line; exits 1 if the target is missed.
# Goes with median.awk.
BEGIN {
	FS = OFS = "\t"
	goal = 1.5
}

NR == 1 { next }
{
	took[$1, $2] = $3
	if ($1 > pairs)
		pairs = $1
}

END {
	for (p = 1; p <= pairs; p++) {
		list = list " " took[p, "ours"] / took[p, "bare"]
		ours = ours " " took[p, "ours"]
		bare = bare " " took[p, "bare"]
	}
	ratio = median(list)
	low = lowest
	high = highest
	verdict = ratio <= goal ? "ok" : "MISSED"
	printf "expire_due %.1f s, by hand %.1f s: ratio %.2f (%.2f-%.2f), target <=%s %s; ringing in the transaction %.1f s\n",
		median(ours) / 1000, median(bare) / 1000, ratio, low, high, goal, verdict, took[1, "rings"] / 1000
	print "ours_ms", "bare_ms", "ratio", "lowest", "highest", "rings_ms" > summary
	print median(ours), median(bare), ratio, low, high, took[1, "rings"] > summary
	exit verdict == "MISSED"
}
