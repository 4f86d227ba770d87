#!/bin/sh
# What a hash costs: approval.hash_action against SHA-256 of jsonb's text in
# the same server, and against npm's canonicalize with SHA-256 in Node.
#
# usage: PGHOST=... PGPORT=... PGDATABASE=... test/bench/hash.sh [PAIRS]
# environment: NODE_PATH, or a node_modules above, with canonicalize (npm);
#              without it only the first comparison is made
# The database has the extension; nothing is left in it.  Prints the median
# time of one hash and the median of the ratios of interleaved pairs, and fails
# if a target is missed: at most 1.5 times jsonb, at least 5 times Node.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pairs=${1:-9}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

node "$here/hash_documents.mjs" "$work"

# document, expression, times: microseconds for one
in_server() {
	psql -qXAt -v ON_ERROR_STOP=1 <<SQL | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | awk -v n="$3" '{printf "%.3f\n", $1 * 1000 / n}'
SET max_parallel_workers_per_gather = 0;
SET jit = off;
\set doc \`cat $work/$1.json\`
CREATE TEMP TABLE document AS SELECT :'doc'::json AS doc;
\timing on
WITH d AS MATERIALIZED (SELECT (doc::text || '')::json AS doc FROM document)
SELECT count($2) FROM d, generate_series(1, $3);
SQL
}

# stdin: numbers; their median
median() {
	sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}

status=0
compare() {					# label, file of ratios, at least or most, limit
	ratio=$(median < "$2")
	if awk -v r="$ratio" -v l="$4" -v how="$3" 'BEGIN {exit !(how == "most" ? r <= l : r >= l)}'; then
		verdict=ok
	else
		verdict="MISSED"
		status=1
	fi
	printf '%-52s %8.2f  (at %s %s) %s\n' "$1" "$ratio" "$3" "$4" "$verdict"
}

for size in 450 20000; do
	times=$((size == 450 ? 100000 : 4000))
	: > "$work/ours"; : > "$work/jsonb"; : > "$work/node"; : > "$work/parsed"
	: > "$work/by_jsonb"; : > "$work/by_node"
	i=0
	while [ "$i" -lt "$pairs" ]; do
		i=$((i + 1))
		ours=$(in_server "$size" "approval.hash_action('refund_payment', doc)" "$times")
		jsonb=$(in_server "$size" "sha256(convert_to(doc::jsonb::text, 'utf8'))" "$times")
		echo "$ours" >> "$work/ours"
		echo "$jsonb" >> "$work/jsonb"
		awk -v a="$ours" -v b="$jsonb" 'BEGIN {print a / b}' >> "$work/by_jsonb"
		if node=$(node "$here/hash_node.mjs" "$work/$size.json" "$times"); then
			echo "${node% *}" >> "$work/node"
			echo "${node#* }" >> "$work/parsed"
			awk -v a="${node% *}" -v b="$ours" 'BEGIN {print a / b}' >> "$work/by_node"
		fi
	done
	printf '%s bytes: hash_action %.2f us, jsonb %.2f us\n' "$(wc -c < "$work/$size.json")" \
		"$(median < "$work/ours")" "$(median < "$work/jsonb")"
	compare "  hash_action / sha256(jsonb text), time" "$work/by_jsonb" most 1.5
	if [ -s "$work/node" ]; then
		printf '  node from text %.2f us, from a parsed object %.2f us\n' \
			"$(median < "$work/node")" "$(median < "$work/parsed")"
		compare "  node parse + canonicalize + SHA-256 / hash_action" "$work/by_node" least 5
	else
		echo "  node: no canonicalize found (npm install canonicalize, NODE_PATH)"
	fi
done
exit $status
