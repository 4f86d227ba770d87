# decide and consume with few and with many finished requests in the tables.
# Sourced by test/bench/run, after lib.sh.
# shellcheck shell=bash

few=10000
if [ -n "${QUICK:-}" ]; then
	: "${FINISHED:=200000}"
fi
: "${FINISHED:=5000000}" "${TRANSACTIONS:=1000}"

# One table in one transaction that has emptied it before: with wal_level
# minimal nothing of it is logged.
fill_relation()
{
	local database=$1 relation=$2 how_many=$3

	{
		echo "BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL synchronous_commit = off;"
		echo "TRUNCATE approval.$relation;"
		cat "$bench/scripts/fill.sql"
		echo "COMMIT;"
	} >"$work/fill.$relation.sql"
	run_sql "$database" -v schema=approval -v relation="$relation" -v how_many="$how_many" -f "$work/fill.$relation.sql"
}

# What a filled database was made from; one that fits is used again.
fingerprint() { printf '%s rows, ' "$1"; cat build/stage/"$pg_sharedir"/extension/approval--*.sql "$bench/scripts/fill.sql" | md5sum | cut -d ' ' -f 1; }

filled_already()
{
	[ "$(run_sql postgres -c "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = '$1'")" = "$2" ]
}

fill_database()
{
	local database=$1 how_many=$2 mark job started=$SECONDS

	mark=$(fingerprint "$how_many")
	if filled_already "$database" "$mark"; then
		return
	fi
	run_sql postgres -c "DROP DATABASE IF EXISTS $database" -c "CREATE DATABASE $database" >/dev/null
	run_sql "$database" -c 'CREATE EXTENSION approval'
	make_login "$database"
	fill_relation "$database" requests "$how_many" &
	job=$!
	fill_relation "$database" decisions "$how_many"
	fill_relation "$database" events "$how_many"
	wait "$job" || die "could not fill $database"
	run_sql "$database" -c 'VACUUM (ANALYZE)' -c 'CREATE EXTENSION pg_prewarm'
	run_sql postgres -c "COMMENT ON DATABASE $database IS '$mark'" -c CHECKPOINT
	say "# $how_many finished requests: $(run_sql "$database" -c "SELECT pg_size_pretty(pg_database_size('$database'))"), filled in $((SECONDS - started)) s" >&2
}

# Index pages into the system's cache, as a server that has run for a while
# has them.
warm()
{
	run_sql "$1" -c "SELECT sum(pg_prewarm(indexrelid, 'read')) FROM pg_index WHERE indrelid IN ('approval.requests'::regclass, 'approval.decisions'::regclass, 'approval.events'::regclass)" >/dev/null
	run_pgbench "$1" "$work/ours.off.sql" -c 1 -t "$TRANSACTIONS"
}

scale_pair()
{
	local order=(scale_few scale_many) database

	[ $((pair % 2)) = 1 ] || order=(scale_many scale_few)
	for database in "${order[@]}"; do
		run_pgbench "$database" "$work/ours.off.sql" -c 1 -t "$TRANSACTIONS"
		printf '%s\t%s\t%s\t%s\t%s\n' "$sync" "$pair" "$database" "$cpu" "$latencies" >>"$raw"
	done
}

scale()
{
	local sync pair raw=$out/scale.raw.tsv

	say "== scale: decide and consume with $few and with $FINISHED finished requests, $PAIRS interleaved pairs of $TRANSACTIONS lifecycles, one client"
	start_cluster --fsync off --set wal_level=minimal --set max_wal_senders=0
	fill_database scale_few "$few"
	fill_database scale_many "$FINISHED"
	tools/cluster stop "$cluster"
	# what was written with fsync off
	sync
	start_cluster
	make_scripts scale_few
	read_arguments
	printf 'sync\tpair\tdatabase\tcpu\tpropose\tdecide\tconsume\tcomplete\n' >"$raw"
	for sync in off on; do
		set_login synchronous_commit "$sync" approval.force_sync "$sync" approval.notify off
		run_sql postgres -c CHECKPOINT
		warm scale_few
		warm scale_many
		for pair in $(seq "$PAIRS"); do
			scale_pair
		done
	done
	awk -f "$bench/median.awk" -f "$bench/scale.awk" -v summary="$out/scale.tsv" "$raw" || missed=1
}
