# propose + decide + consume + complete against the same durable work by hand.
# Sourced by test/bench/run, after lib.sh.
# shellcheck shell=bash

: "${CLIENTS:=1 8 32}" "${SYNC:=on off}" "${NOTIFY:=off transaction}" "${AGAINST:=byhand framework}"

# Copies of our tables: same columns, indexes, checks and defaults.
make_copies()
{
	local schema

	for schema in byhand framework; do
		run_sql bench <<-SQL
			CREATE SCHEMA $schema;
			CREATE TABLE $schema.requests (LIKE approval.requests INCLUDING ALL);
			CREATE TABLE $schema.decisions (LIKE approval.decisions INCLUDING ALL);
			CREATE TABLE $schema.events (LIKE approval.events INCLUDING ALL);
			CREATE SEQUENCE $schema.events_seq;
			ALTER TABLE $schema.events ALTER seq SET DEFAULT nextval('$schema.events_seq');
			-- what the checks call
			GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA approval TO $login;
			GRANT USAGE ON SCHEMA $schema TO $login;
			GRANT ALL ON ALL TABLES IN SCHEMA $schema TO $login;
			GRANT ALL ON ALL SEQUENCES IN SCHEMA $schema TO $login;
		SQL
	done
}

# The same few finished requests for everybody, so that no plan is made for an
# empty table, and no checkpoint due.  The guard lets a replica's session pass.
level_the_field()
{
	local schema

	run_sql bench <<-SQL
		SET session_replication_role = replica;
		TRUNCATE approval.requests, approval.decisions, approval.events,
			byhand.requests, byhand.decisions, byhand.events,
			framework.requests, framework.decisions, framework.events;
	SQL
	for schema in approval byhand framework; do
		run_sql bench -v schema=$schema -v relation=all -v how_many=1000 -f "$bench/scripts/fill.sql"
	done
	run_sql bench -c 'VACUUM (ANALYZE)' -c CHECKPOINT
}

# What a client by hand would have worked out beforehand: taken from a row of
# ours, so that all sides write the same bytes.
read_stored_values()
{
	local digest

	run_pgbench bench "$work/ours.off.sql" -c 1 -t 1
	digest=$(run_sql bench -c "SELECT review_hash FROM approval.requests LIMIT 1")
	define+=(
		-D "canonical=$(run_sql bench -c "SELECT arguments FROM approval.requests LIMIT 1")"
		-D "summary=$(run_sql bench -c "SELECT summary FROM approval.requests LIMIT 1")"
		-D "origin=$(run_sql bench -c "SELECT origin FROM approval.events LIMIT 1")"
		-D "digest=$digest" -D "token=$digest"
		-D "channel_tenant=$(run_sql bench -c "SELECT approval.channel('tenant')")"
		-D "channel_conversation=$(run_sql bench -c "SELECT approval.channel('conversation', '123456789012345678')")"
	)
}

# Bytes that one lifecycle leaves in live rows.
row_bytes()
{
	run_sql bench -c "
		SELECT (SELECT sum(pg_column_size(r.*)) FROM $1.requests r) / n || ' + '
			|| (SELECT sum(pg_column_size(e.*)) FROM $1.events e) / n || ' + '
			|| (SELECT sum(pg_column_size(d.*)) FROM $1.decisions d) / n
		  FROM (SELECT count(*) AS n FROM $1.requests) c"
}

# How many notifications a listener of two channels gets from ten lifecycles.
notifications()
{
	local script=$1

	{
		declare -p define work login PGDATA
		declare -f run_pgbench server_cpu die
		echo "run_pgbench bench $script -c 1 -t 10"
	} >"$work/ring"
	# a session hears with its next answer
	run_sql bench <<-SQL | grep -c '^Asynchronous notification'
		LISTEN approval;
		SELECT 'LISTEN ' || approval.channel('tenant') \gexec
		\! bash $work/ring
		SELECT 1;
	SQL
}

# The same columns filled, the same bells rung, or the comparison is worthless.
check_alike()
{
	local side schema facts='' fact

	set_login synchronous_commit on approval.force_sync on approval.notify transaction
	for side in ours byhand framework; do
		schema=$side
		[ $side != ours ] || schema=approval
		fact="$(notifications "$work/$side.transaction.sql") notifications, columns $(run_sql bench -c "
			SELECT md5(string_agg(key, ',' ORDER BY key)) FROM (
				SELECT DISTINCT t || '.' || key AS key
				  FROM (SELECT 'r' AS t, to_jsonb(r) AS j FROM $schema.requests r
						UNION ALL SELECT 'e', to_jsonb(e) FROM $schema.events e
						UNION ALL SELECT 'd', to_jsonb(d) FROM $schema.decisions d) x, jsonb_each_text(j)
				 WHERE value IS NOT NULL) k")"
		say "# $side: bytes of rows per lifecycle $(row_bytes "$schema"); $fact"
		[ -z "$facts" ] || [ "$facts" = "$fact" ] || die "$side does not write what the others write"
		facts=$fact
	done
}

# one_run SIDE: a line of raw figures
one_run()
{
	local side=$1 before after threads=1

	[ "$clients" = 1 ] || threads=2
	before=$(run_sql bench -c "SELECT pg_current_wal_insert_lsn() - '0/0'")
	run_pgbench bench "$work/$side.$notify.sql" -c "$clients" -j $threads -T "$DURATION"
	after=$(run_sql bench -c "SELECT pg_current_wal_insert_lsn() - '0/0'")
	printf '%s\t' "$clients" "$sync" "$notify" "$pair" "$side" "$tps" "$cpu" \
		$(((after - before) / transactions)) >>"$raw"
	printf '%s\n' "$latencies" >>"$raw"
}

# Ours stands between the others, so that each has it as a neighbour in time;
# every other pair runs backwards.
one_pair()
{
	local order=() side

	for side in $AGAINST; do
		order+=("$side")
		[ ${#order[@]} != 1 ] || order+=(ours)
	done
	if [ $((pair % 2)) = 0 ]; then
		mapfile -t order < <(printf '%s\n' "${order[@]}" | tac)
	fi
	level_the_field
	for side in "${order[@]}"; do
		one_run "$side"
	done
}

prepare_lifecycle()
{
	start_cluster
	run_sql postgres -c 'DROP DATABASE IF EXISTS bench' -c 'CREATE DATABASE bench' >/dev/null
	run_sql bench -c 'CREATE EXTENSION approval'
	make_login bench
	make_copies
	make_scripts bench
	read_arguments
	read_stored_values
}

lifecycle()
{
	local clients sync notify pair raw=$out/lifecycle.raw.tsv

	say "== lifecycle: propose + decide + consume + complete, $PAIRS interleaved pairs of $DURATION s"
	prepare_lifecycle
	check_alike
	printf 'clients\tsync\tnotify\tpair\tside\ttps\tcpu\twal\tpropose\tdecide\tconsume\tcomplete\n' >"$raw"
	for notify in $NOTIFY; do
		for sync in $SYNC; do
			set_login synchronous_commit "$sync" approval.force_sync "$sync" approval.notify "$notify"
			for clients in $CLIENTS; do
				for pair in $(seq "$PAIRS"); do
					one_pair
				done
				say "# $clients clients, synchronous_commit $sync, notify $notify: done, load $(cut -d ' ' -f 1-3 /proc/loadavg)" >&2
			done
		done
	done
	awk -f "$bench/median.awk" -f "$bench/lifecycle.awk" -v summary="$out/lifecycle.tsv" "$raw" || missed=1
}
