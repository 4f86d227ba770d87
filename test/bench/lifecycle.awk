# From the raw figures of lifecycle.sh to tables; exits 1 if a target is
# missed.  -v summary=FILE gets the same as tab-separated values.
BEGIN {
	FS = OFS = "\t"
	target["byhand", "on"] = 1.0
	target["byhand", "off"] = 0.8
	target["framework", "on"] = target["framework", "off"] = 1.8
	title["byhand"] = "(a) CTE"
	title["framework"] = "(b) framework"
	split("propose decide consume complete", steps, " ")
}

NR == 1 { next }
{
	cell = $1 OFS $2 OFS $3
	if (!(cell in seen)) {
		seen[cell] = 1
		cells[++ncells] = cell
	}
	tps[cell, $5, $4] = $6
	pairs[cell] = pairs[cell] < $4 ? $4 : pairs[cell]
	all_tps[cell, $5] = all_tps[cell, $5] " " $6
	cpu[cell, $5, $4] = $7
	all_cpu[cell, $5] = all_cpu[cell, $5] " " $7
	wal[cell, $5] = wal[cell, $5] " " $8
	for (i = 1; i <= 4; i++)
		latency[cell, $5, i] = latency[cell, $5, i] " " $(8 + i)
}

function ratio(figure, cell, side,    p, list) {
	list = ""
	for (p = 1; p <= pairs[cell]; p++)
		if (((cell, "ours", p) in figure) && ((cell, side, p) in figure) && figure[cell, side, p] > 0)
			list = list " " figure[cell, "ours", p] / figure[cell, side, p]
	return median(list)
}

END {
	print "clients", "sync", "notify", "against", "ours_tps", "other_tps", "ratio", "lowest", "highest", "target", "verdict", "cpu_ratio" > summary
	printf "\n%-7s %-4s %-11s  %-13s %9s %9s   %-6s %-15s %-11s %s\n", "clients", "sync", "notify", "ours against", "ours/s", "other/s", "ratio", "lowest-highest", "target", "CPU time"
	for (c = 1; c <= ncells; c++) {
		cell = cells[c]
		split(cell, key, OFS)
		for (s = 1; s <= 2; s++) {
			side = s == 1 ? "byhand" : "framework"
			if (!((cell, side) in all_tps))
				continue
			ours = median(all_tps[cell, "ours"])
			other = median(all_tps[cell, side])
			cpu_ratio = ratio(cpu, cell, side)
			r = ratio(tps, cell, side)
			goal = target[side, key[2]]
			verdict = r >= goal ? "ok" : "MISSED"
			if (r < goal)
				missed = 1
			printf "%7s %-4s %-11s  %-13s %9.0f %9.0f   %-6.3f %-15s %.1f %-7s %.2f\n", key[1], key[2], key[3], title[side], ours, other, r, sprintf("%.3f-%.3f", lowest, highest), goal, verdict, cpu_ratio
			printf "%s\t%s\t%.1f\t%.1f\t%.4f\t%.4f\t%.4f\t%.1f\t%s\t%.4f\n", cell, side, ours, other, r, lowest, highest, goal, verdict, cpu_ratio > summary
		}
	}
	printf "\nWhere a lifecycle's time goes: median latency in milliseconds of each step;\nmicroseconds of processor time in the server and bytes of WAL of all four\n"
	printf "%-7s %-4s %-11s  %-13s", "clients", "sync", "notify", "side"
	for (i = 1; i <= 4; i++)
		printf " %9s", steps[i]
	printf " %9s %9s\n", "CPU us", "WAL"
	for (c = 1; c <= ncells; c++) {
		cell = cells[c]
		split(cell, key, OFS)
		for (s = 0; s <= 2; s++) {
			side = s == 0 ? "ours" : s == 1 ? "byhand" : "framework"
			if (!((cell, side) in all_tps))
				continue
			printf "%7s %-4s %-11s  %-13s", key[1], key[2], key[3], s == 0 ? "ours" : title[side]
			for (i = 1; i <= 4; i++)
				printf " %9.3f", median(latency[cell, side, i])
			printf " %9.0f %9.0f\n", median(all_cpu[cell, side]), median(wal[cell, side])
		}
	}
	exit missed
}
