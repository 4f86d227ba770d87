# record_step against a bare INSERT with the same columns and indexes, and the
# trace of a run with a thousand steps among few and among many.
# Sourced by test/bench/run, after lib.sh.
# STEPS_PART=trace leaves the first out.
# shellcheck shell=bash

few_steps=10000
# so many runs are at work at the same time
abreast=10
if [ -n "${QUICK:-}" ]; then
	: "${STEPS:=200000}" "${TRACES:=200}"
fi
: "${STEP_CLIENTS:=1 8}" "${STEP_SYNC:=on off}" "${STEPS:=10000000}" "${TRACES:=500}"

# step_script NAME: with what the step costs, and without
step_script()
{
	sed "s/@COUNTERS@/, input_tokens => 900, output_tokens => 80, cost => 0.0123/" "$bench/scripts/step_ours.sql" >"$work/ours_counted.sql"
	sed "s/@COUNTERS@//" "$bench/scripts/step_ours.sql" >"$work/ours_plain.sql"
	sed "s/@COUNTERS@/900, 80, 0.0123/" "$bench/scripts/step_bare.sql" >"$work/bare_counted.sql"
	sed "s/@COUNTERS@/NULL, NULL, NULL/" "$bench/scripts/step_bare.sql" >"$work/bare_plain.sql"
}

# A run for each client, whose tokens are all the same, and the other table.
make_steps()
{
	run_sql steps <<-SQL
		CREATE SCHEMA bare;
		CREATE TABLE bare.steps (LIKE approval.steps INCLUDING ALL);
		CREATE SEQUENCE bare.seq;
		GRANT USAGE ON SCHEMA bare TO $login;
		GRANT INSERT, SELECT ON bare.steps TO $login;
		GRANT USAGE ON SEQUENCE bare.seq TO $login;
	SQL
	psql -qXAt -v ON_ERROR_STOP=1 -U "$login" -d steps >/dev/null <<-SQL
		SELECT count(approval.start_run('conversation-' || i, 'run-' || i)) FROM generate_series(1, 64) i;
		SELECT count(approval.claim_run('run-' || i, '1 day')) FROM generate_series(1, 64) i;
	SQL
	run_sql steps -c "SET session_replication_role = replica" \
		-c "UPDATE approval.runs SET token_hash = encode(sha256('$step_token'), 'hex')::approval.digest"
}

# step_run SIDE
step_run()
{
	run_pgbench steps "$work/$1_$counters.sql" -c "$clients" -j 2 -T "$DURATION"
	printf '%s\t' "$counters" "$sync" "$clients" "$pair" "$1" "$tps" >>"$raw"
	printf '%s\n' "$cpu" >>"$raw"
}

step_pair()
{
	local order=(bare ours) side

	[ $((pair % 2)) = 1 ] || order=(ours bare)
	run_sql steps <<-SQL
		SET session_replication_role = replica;
		TRUNCATE approval.steps, bare.steps;
	SQL
	run_sql steps -c 'VACUUM (ANALYZE)' -c CHECKPOINT
	for side in "${order[@]}"; do
		step_run "$side"
	done
}

record_steps()
{
	local counters sync clients pair raw=$out/steps.raw.tsv step_token=bench-token
	local define=(-D "token=$step_token" -D agent=agent:support -D 'detail={"messages":12,"finish_reason":"tool_calls","response_id":"resp_68af4030592c81938ec0a5fbab4a3e9f"}')

	say "== steps: record_step against a bare INSERT, $PAIRS interleaved pairs of $DURATION s"
	run_sql postgres -c 'DROP DATABASE IF EXISTS steps' -c 'CREATE DATABASE steps' >/dev/null
	run_sql steps -c 'CREATE EXTENSION approval'
	make_login steps
	step_script
	make_steps
	printf 'counters\tsync\tclients\tpair\tside\ttps\tcpu\n' >"$raw"
	for sync in $STEP_SYNC; do
		set_login synchronous_commit "$sync"
		for clients in $STEP_CLIENTS; do
			for counters in plain counted; do
				for pair in $(seq "$PAIRS"); do
					step_pair
				done
			done
			say "# $clients clients, synchronous_commit $sync: done, load $(cut -d ' ' -f 1-3 /proc/loadavg)" >&2
		done
	done
	run_sql postgres -c 'DROP DATABASE steps'
	awk -f "$bench/median.awk" -f "$bench/steps.awk" -v summary="$out/steps.tsv" "$raw" || missed=1
}

# fill_steps DATABASE STEPS
fill_steps()
{
	local started=$SECONDS

	run_sql postgres -c "DROP DATABASE IF EXISTS $1" -c "CREATE DATABASE $1" >/dev/null
	run_sql "$1" -c 'CREATE EXTENSION approval'
	make_login "$1"
	run_sql "$1" -v runs=$(($2 / 1000)) -v abreast=$abreast -f "$bench/scripts/steps_fill.sql"
	run_sql "$1" -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
	say "# $2 steps: $(run_sql "$1" -c "SELECT pg_size_pretty(pg_database_size('$1'))"), in $((SECONDS - started)) s" >&2
}

# trace_run DATABASE: the run in the middle
trace_run()
{
	local runs

	runs=$(run_sql "$1" -c 'SELECT count(*) FROM approval.runs')
	printf '%s\n' "SELECT count(*), max(seq), sum(input_tokens) FROM approval.trace('run-$((runs / 2))');" >"$work/trace.sql"
	rm -f "$work"/trace.log*
	# what is measured is in memory
	run_pgbench "$1" "$work/trace.sql" -c 1 -t 40
	run_pgbench "$1" "$work/trace.sql" -c 1 -t "$TRACES" -l --log-prefix="$work/trace.log"
	printf '%s\t%s\t%s\n' "$pair" "${1#trace_}" "$(awk '{print $3}' "$work"/trace.log* | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)] / 1000}')" >>"$raw"
}

trace_pair()
{
	local order=(trace_few trace_many) database

	[ $((pair % 2)) = 1 ] || order=(trace_many trace_few)
	for database in "${order[@]}"; do
		trace_run "$database"
	done
}

traces()
{
	local pair raw=$out/trace.raw.tsv define=()

	say "== trace: a run of 1000 steps among $STEPS steps and among $few_steps, $PAIRS interleaved pairs of $TRACES"
	fill_steps trace_few "$few_steps"
	fill_steps trace_many "$STEPS"
	set_login synchronous_commit on
	printf 'pair\tside\tms\n' >"$raw"
	for pair in $(seq "$PAIRS"); do
		trace_pair
	done
	run_sql postgres -c 'DROP DATABASE trace_few' -c 'DROP DATABASE trace_many'
	awk -f "$bench/median.awk" -f "$bench/trace.awk" -v summary="$out/trace.tsv" "$raw" || missed=1
}

steps()
{
	start_cluster
	[ "${STEPS_PART:-}" = trace ] || record_steps
	traces
}
