# Shared by the parts of test/bench; sourced after tools/lib.sh, in the
# checkout's top directory.  "missed" becomes 1 where a target is missed.
# shellcheck shell=bash

bench=$top/test/bench
out=$top/build/bench
cluster=${BENCH_CLUSTER:-bench}
login=bench

# Quick mode is for work in progress; its figures are not to be quoted.
if [ -n "${QUICK:-}" ]; then
	: "${PAIRS:=3}" "${DURATION:=3}"
fi
: "${PAIRS:=7}" "${DURATION:=6}"

# The server: fsync on, checkpoints and autovacuum only when we say so.
server_settings=(
	--set shared_buffers=512MB
	--set max_connections=100
	--set checkpoint_timeout=1h
	--set max_wal_size=8GB
	--set min_wal_size=2GB
	--set autovacuum=off
	--set random_page_cost=1.1
	--set max_locks_per_transaction=128
)

# A run by itself at a time, and nothing left behind unless asked for.
claim_cluster()
{
	mkdir -p "$out"
	exec 9>"$out/$cluster.lock"
	flock -n 9 || die "another benchmark is using cluster \"$cluster\" (BENCH_CLUSTER names another one)"
	# figures matter more than what else runs here, where that may be said
	renice -n -10 $$ >/dev/null 2>&1 || true
	work=$(mktemp -d)
	trap 'release_cluster' EXIT
	trap 'exit 130' INT TERM
}

release_cluster()
{
	rm -rf "$work"
	if [ -n "${BENCH_KEEP:-}" ]; then
		tools/cluster stop "$cluster" || true
	else
		tools/cluster destroy "$cluster" || true
	fi
}

# The library is copied, so that a build of another session in this checkout
# changes nothing half way.
pin_stage()
{
	local place

	[ -d build/stage ] || die "nothing is staged: run \"make stage\""
	place=$(cat "build/cluster/$cluster/place" 2>/dev/null || echo "$top/build/cluster/$cluster")
	rm -rf "$place/measured"
	cp -r build/stage "$place/measured"
	tools/stage-settings "$place/measured" | sed 's/^/ALTER SYSTEM SET /; s/$/;/' >"$work/pin.sql"
	echo "SELECT pg_reload_conf();" >>"$work/pin.sql"
	run_sql postgres -f "$work/pin.sql" >/dev/null
	sleep 0.2
}

# start_cluster [OPTION...]: further options of tools/cluster start
start_cluster()
{
	tools/cluster stop "$cluster"
	tools/cluster start "$cluster" "${server_settings[@]}" "$@" 9>&-
	eval "$(tools/cluster env "$cluster")"
	PGDATA=$(run_sql postgres -c 'SHOW data_directory')
	export PGDATA
	pin_stage
}

# run_sql DATABASE PSQL-ARGUMENT...: as superuser
run_sql()
{
	local database=$1

	shift
	PGOPTIONS='-c client_min_messages=warning' psql -qXAt -v ON_ERROR_STOP=1 -d "$database" "$@"
}

# One login that may do everything, as an application with one connection has.
make_login()
{
	local database=$1

	run_sql "$database" <<-SQL
		SELECT 'CREATE ROLE $login LOGIN' WHERE to_regrole('$login') IS NULL \gexec
		GRANT approval_requester, approval_approver, approval_executor TO $login;
		SELECT approval.register_login('$login', 'delegate', 'agent:support') \g /dev/null
		ALTER ROLE $login SET approval.separate_logins = off;
	SQL
}

# set_login NAME VALUE...: settings of the login's next sessions
set_login()
{
	while [ $# -gt 0 ]; do
		run_sql postgres -c "ALTER ROLE $login SET $1 = $2"
		shift 2
	done
}

# What a run's statements bind: the values a client would have at hand.
read_arguments()
{
	define=(
		-D "tool=refund_payment" -D "server=payments" -D "resource=customer/4711"
		-D "arguments=$(cat "$bench/arguments.json")"
		-D "run=run_01HZX3V5Q2R8S6T4" -D "owner=user:7" -D "agent=agent:support" -D "login=$login"
		-D "reviewer=user:42" -D "note=checked against the bank statement"
		-D "reason=The customer was charged twice for one order; the second charge is confirmed."
		-D 'result={"refund_id":"re_5kJ2mQ81","status":"succeeded","amount":"129.90","balance_transaction":"txn_77120"}'
	)
}

# Scripts for pgbench, from the files of the same name in scripts/: @REQUEST@
# becomes the columns that our verbs return, lines that end in "-- notify" go
# where nothing is to ring.
make_scripts()
{
	local database=$1 columns name

	columns=$(run_sql "$database" -c "SELECT string_agg('r.' || attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'approval.request'::regclass AND attnum > 0")
	for name in ours byhand framework; do
		sed "s/@REQUEST@/$columns/" "$bench/scripts/$name.sql" >"$work/$name.transaction.sql"
		sed '/-- notify$/d' "$work/$name.transaction.sql" >"$work/$name.off.sql"
		# a list that ends in RETURNING has lost its items
		sed -i 's/RETURNING$//' "$work/$name.off.sql"
	done
}

# Hundredths of a second that processes of the server have used and that have
# ended since.
server_cpu()
{
	awk '{sub(/.*\) /, ""); print $14 + $15}' "/proc/$(head -n 1 "$PGDATA/postmaster.pid")/stat"
}

# run_pgbench DATABASE SCRIPT PGBENCH-ARGUMENT...: leaves the output in
# $work/pgbench, transactions in $transactions and by the second in $tps, the
# processor time of one in the server in $cpu (microseconds), latencies in
# $latencies (milliseconds of propose, decide, consume, complete).  Of a timed
# run the first second does not count in $tps: connections are opened and plans
# made.
run_pgbench()
{
	local database=$1 script=$2 code=0 before

	shift 2
	before=$(server_cpu)
	pgbench -n -M prepared -r -P 1 -U "$login" -f "$script" "${define[@]}" "$@" "$database" \
		>"$work/pgbench" 2>"$work/progress" 9>&- || code=$?
	if [ $code != 0 ] || grep -q 'aborted\|ERROR' "$work/progress"; then
		grep -v '^progress' "$work/progress" | head -n 20 >&2
		die "pgbench failed with $script"
	fi
	tps=$(awk '/^progress: / {if (n++ > 0) {sum += $4; count++}} END {printf "%.2f", count ? sum / count : 0}' "$work/progress")
	[ "$tps" != 0.00 ] || tps=$(awk '/^tps = / {print $3}' "$work/pgbench")
	transactions=$(awk -F '[ /]' '/^number of transactions actually processed/ {print $6}' "$work/pgbench")
	cpu=$(awk -v a="$(server_cpu)" -v b="$before" -v n="$transactions" 'BEGIN {printf "%.1f", (a - b) * 10000 / n}')
	latencies=$(awk '
		match($0, /\/\* [a-z]+ \*\//) {
			step = substr($0, RSTART + 3, RLENGTH - 6)
			sum[step] += $1
		}
		END {printf "%.4f\t%.4f\t%.4f\t%.4f", sum["propose"], sum["decide"], sum["consume"], sum["complete"]}
	' "$work/pgbench")
}
