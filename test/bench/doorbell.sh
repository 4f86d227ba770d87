# What live notification costs: lifecycles with the worker ringing, and with
# the transactions ringing, against none ringing; while nobody listens, and
# while a client listens to everything, whose own work is on the bill too.
# Sourced by test/bench/run, after lib.sh.
# shellcheck shell=bash

: "${DOORBELL_CLIENTS:=8 32 64}" "${DOORBELL_SYNC:=on}" "${DOORBELL_LISTENERS:=0 1}"

start_preloaded()
{
	# preloaded from the copy that is measured
	start_cluster --preload "$@"
	tools/cluster restart "$cluster" 9>&-
}

# A session that listens to everything, and says nothing.
listen()
{
	local fifo=$work/listener

	mkfifo "$fifo"
	psql -qXAt -d "$1" <"$fifo" >/dev/null 2>&1 9>&- &
	exec 8>"$fifo"
	printf 'LISTEN approval;\nSELECT %s || approval.channel(%s) \\gexec\n' "'LISTEN '" "'tenant'" >&8
	while [ "$(run_sql postgres -c "SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'LISTEN%' AND state = 'idle'")" != 1 ]; do
		sleep 0.1
	done
}

stop_listening()
{
	exec 8>&-
	rm -f "$work/listener"
}

# doorbell_run SIDE
doorbell_run()
{
	local side=$1

	set_login approval.notify "$side"
	run_pgbench doorbell "$work/ours.off.sql" -c "$clients" -j 2 -T "$DURATION"
	printf '%s\t' "$sync/$listeners" "$clients" "$pair" "$side" "$tps" >>"$raw"
	printf '%s\n' "$cpu" >>"$raw"
}

doorbell_pair()
{
	local order=(off worker transaction) side

	[ $((pair % 2)) = 1 ] || order=(transaction worker off)
	run_sql doorbell <<-SQL
		SET session_replication_role = replica;
		TRUNCATE approval.requests, approval.decisions, approval.events;
	SQL
	run_sql doorbell -v schema=approval -v relation=all -v how_many=1000 -f "$bench/scripts/fill.sql"
	run_sql doorbell -c 'VACUUM (ANALYZE)' -c CHECKPOINT
	for side in "${order[@]}"; do
		doorbell_run "$side"
	done
}

doorbell()
{
	local clients sync listeners pair raw=$out/doorbell.raw.tsv

	say "== doorbell: lifecycles with live notification against without, $PAIRS interleaved rounds of $DURATION s"
	start_preloaded
	run_sql postgres -c 'DROP DATABASE IF EXISTS doorbell' -c 'CREATE DATABASE doorbell' >/dev/null
	run_sql doorbell -c 'CREATE EXTENSION approval'
	make_login doorbell
	make_scripts doorbell
	read_arguments
	printf 'sync\tclients\tpair\tside\ttps\tcpu\n' >"$raw"
	for sync in $DOORBELL_SYNC; do
		set_login synchronous_commit "$sync" approval.force_sync "$sync"
		for listeners in $DOORBELL_LISTENERS; do
			[ "$listeners" = 0 ] || listen doorbell
			for clients in $DOORBELL_CLIENTS; do
				for pair in $(seq "$PAIRS"); do
					doorbell_pair
				done
				say "# $clients clients, synchronous_commit $sync, $listeners listening: done, load $(cut -d ' ' -f 1-3 /proc/loadavg)" >&2
			done
			[ "$listeners" = 0 ] || stop_listening
		done
	done
	awk -f "$bench/median.awk" -f "$bench/doorbell.awk" -v summary="$out/doorbell.tsv" "$raw" || missed=1
}
