# propose under policies of 1, 20 and 200 rules, and in a registry of 5,000
# tools, against propose of a tool that is not registered.
# Sourced by test/bench/run, after lib.sh.
# shellcheck shell=bash

tools=5000
if [ -n "${QUICK:-}" ]; then
	: "${PROPOSALS:=1000}"
fi
: "${PROPOSALS:=4000}"

# Rules of which none but the last matches, so that all are evaluated.
rules()
{
	local i

	printf '['
	for ((i = 1; i < $1; i++)); do
		printf '{"condition":"$.retries >= %d && $.retries <= 1000000","mode":"deny"},' $((1000 + i))
	done
	printf '{"mode":"review"}]'
}

# register DATABASE TOOL RULES
register()
{
	run_sql "$1" -c "SELECT FROM approval.register_tool('$2', 'action', '{\"expects\":{\"retries\":\"nonnegative\"},\"rules\":$(rules "$3")}', server => 'payments')"
}

make_registry()
{
	local database=$1 how_many=$2 n

	run_sql postgres -c "DROP DATABASE IF EXISTS $database" -c "CREATE DATABASE $database" >/dev/null
	run_sql "$database" -c 'CREATE EXTENSION approval'
	make_login "$database"
	for n in 1 20 200; do
		register "$database" "rules_$n" "$n"
	done
	[ "$how_many" = 0 ] || run_sql "$database" -c "
		SELECT count(approval.register_tool('tool_' || i, 'action', ('{\"description\":\"Tool number ' || i || ' of the registry\",\"expects\":{\"retries\":\"nonnegative\"},\"rules\":$(rules 20)}')::jsonb, server => 'payments'))
		  FROM generate_series(1, $how_many) i" >/dev/null
	run_sql "$database" -c 'VACUUM (ANALYZE)'
}

# propose_script SIDE TOOL [CHOICE]
propose_script()
{
	sed "s/@TOOL@/$2/; s/@CHOICE@/${3:-}/" "$bench/scripts/propose.sql" >"$work/$1.propose.sql"
}

# side → database
policy_database()
{
	case $1 in
		many_*) echo policy_many ;;
		*) echo policy_few ;;
	esac
}

policy_pair()
{
	local order=(unregistered rules_1 rules_20 rules_200 many_unregistered many_20 many_cold) side database

	[ $((pair % 2)) = 1 ] || mapfile -t order < <(printf '%s\n' "${order[@]}" | tac)
	for database in policy_few policy_many; do
		run_sql "$database" -c "SET session_replication_role = replica; TRUNCATE approval.requests, approval.events" -c 'VACUUM (ANALYZE) approval.requests'
	done
	for side in "${order[@]}"; do
		run_pgbench "$(policy_database "$side")" "$work/$side.propose.sql" -c 1 -t "$PROPOSALS"
		printf '%s\t%s\t%s\t%s\t%s\n' "$sync" "$pair" "$side" "$cpu" "${latencies%%	*}" >>"$raw"
	done
}

policy()
{
	local sync pair raw=$out/policy.raw.tsv

	say "== policy: propose, $PAIRS interleaved rounds of $PROPOSALS proposals a side, one client"
	start_cluster
	make_registry policy_few 0
	make_registry policy_many "$tools"
	read_arguments
	propose_script unregistered "'nowhere'"
	propose_script rules_1 "'rules_1'"
	propose_script rules_20 "'rules_20'"
	propose_script rules_200 "'rules_200'"
	propose_script many_unregistered "'nowhere'"
	propose_script many_20 "'rules_20'"
	propose_script many_cold "'tool_' || :n" "\\\\set n random(1, $tools)"
	printf 'sync\tpair\tside\tcpu\tpropose\n' >"$raw"
	for sync in off on; do
		set_login synchronous_commit "$sync" approval.force_sync "$sync" approval.notify off
		for pair in $(seq "$PAIRS"); do
			policy_pair
		done
	done
	awk -f "$bench/median.awk" -f "$bench/policy.awk" -v summary="$out/policy.tsv" "$raw" || missed=1
}
