# Pages of an inbox where few and where many requests wait, and decisions by
# decide_many against as many by decide.
# Sourced by test/bench/run, after lib.sh and scale.sh.
# shellcheck shell=bash

waiting_few=1000
selection=200
# so many selections are decided in one run
selections=5
if [ -n "${QUICK:-}" ]; then
	: "${PENDING:=20000}" "${PAGES:=600}"
fi
: "${PENDING:=100000}" "${PAGES:=3000}"

# The person who looks at the inbox.
make_approver()
{
	local database=$1

	run_sql "$database" <<-SQL
		SELECT 'CREATE ROLE bench_approver LOGIN' WHERE to_regrole('bench_approver') IS NULL \gexec
		GRANT approval_approver TO bench_approver;
		SELECT approval.register_login('bench_approver', 'person', 'user:42') \g /dev/null
	SQL
}

# What scale has filled is copied.
copy_filled()
{
	local database=$1 how_many=$2 strategy=

	filled_already scale_many "$(fingerprint "$how_many")" || return 0
	[ "$pg_major" -lt 15 ] || strategy='STRATEGY file_copy'
	run_sql postgres -c "DROP DATABASE IF EXISTS $database" -c "CREATE DATABASE $database TEMPLATE scale_many $strategy" \
		-c "COMMENT ON DATABASE $database IS '$(fingerprint "$how_many")'"
}

# fill_inbox DATABASE FINISHED PENDING
fill_inbox()
{
	local database=$1 how_many=$2 pending=$3 mark started=$SECONDS

	mark="$(fingerprint "$how_many"), $pending wait, $(md5sum <"$bench/scripts/pending.sql" | cut -d ' ' -f 1)"
	if filled_already "$database" "$mark"; then
		return
	fi
	[ "$how_many" = "$few" ] || copy_filled "$database" "$how_many"
	fill_database "$database" "$how_many"
	make_approver "$database"
	run_sql "$database" -v how_many="$how_many" -v pending="$pending" -f "$bench/scripts/pending.sql"
	run_sql "$database" -c 'VACUUM (ANALYZE)'
	run_sql postgres -c "COMMENT ON DATABASE $database IS '$mark'" -c CHECKPOINT
	say "# $pending requests that wait on top: $(run_sql "$database" -c "SELECT pg_size_pretty(pg_database_size('$database'))"), in $((SECONDS - started)) s" >&2
}

# page_script NAME FILTERS [AFTER]
page_script()
{
	sed "s/@FILTERS@/'$2'/; s/@AFTER@/${3:-NULL}/" "$bench/scripts/page.sql" >"$work/$1.page.sql"
	pages+=("$1")
}

make_pages()
{
	pages=()
	page_script first '{}'
	page_script next '{}' :after
	page_script tool '{"tool":"transfer_funds"}'
	page_script assignee '{"assignee":"user:7"}'
	page_script group '{"reviewer_group":"board"}'
	page_script risk '{"risk":"critical"}'
}

# What is behind the middle one of those that wait.
find_middle() { run_sql "$1" -c "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY id::text COLLATE \"C\") FROM approval.requests WHERE status = 'pending'"; }

# Both databases must have the same to show.
check_pages()
{
	local database=$1 name rows

	for name in "${pages[@]}"; do
		rows=$(psql -qXAt -v ON_ERROR_STOP=1 -v after="'${middle[$database]}'" -U bench_approver -d "$database" -f "$work/$name.page.sql" | wc -l)
		case $name in
			assignee | group) [ "$rows" = 40 ] ;;
			*) [ "$rows" = 50 ] ;;
		esac || die "page $name of $database has $rows rows"
	done
}

# middle_latency SCRIPT LOG: milliseconds
middle_latency() { awk -v script="$1" '$4 == script {print $3}' "$2" | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)] / 1000}'; }

# run_pages DATABASE: one session that asks for one page after the other, which
# one being left to chance; what counts is the median of a kind.
run_pages()
{
	local database=$1 login=bench_approver scripts=() define=() after=${middle[$1]} i log

	# pgbench puts it into the text as it is, where it does not bind it
	[ "$mode" = prepared ] || after="'$after'"
	define=(-D "after=$after")
	for i in "${pages[@]:1}"; do
		scripts+=(-f "$work/$i.page.sql")
	done
	rm -f "$work"/pages.log*
	run_pgbench "$database" "$work/${pages[0]}.page.sql" "${scripts[@]}" -M "$mode" -c 1 -t "$PAGES" \
		--random-seed="$pair" -l --log-prefix="$work/pages.log"
	log=$(echo "$work"/pages.log*)
	for i in "${!pages[@]}"; do
		printf '%s\t%s\t%s\t%s\t%s\n' "${pages[i]}" "$mode" "$pair" "${database#inbox_}" "$(middle_latency "$i" "$log")" >>"$raw"
	done
}

pages_pair()
{
	local order=(inbox_few inbox_many) database

	[ $((pair % 2)) = 1 ] || order=(inbox_many inbox_few)
	for database in "${order[@]}"; do
		run_pages "$database"
	done
}

measure_pages()
{
	local mode pair pages
	local -A middle

	make_pages
	for pair in inbox_few inbox_many; do
		middle[$pair]=$(find_middle "$pair")
		check_pages "$pair"
	done
	for mode in simple prepared; do
		for pair in $(seq "$PAIRS"); do
			pages_pair
		done
	done
}

make_selections()
{
	run_sql postgres -c 'DROP DATABASE IF EXISTS inbox_decide' -c 'CREATE DATABASE inbox_decide TEMPLATE inbox_few'
	run_sql inbox_decide <<-SQL
		CREATE SCHEMA bench;
		CREATE TABLE bench.requests (n int PRIMARY KEY, id text, seen text);
		CREATE TABLE bench.batches (step int PRIMARY KEY, document text);
		GRANT USAGE ON SCHEMA bench TO $login;
		GRANT ALL ON bench.requests, bench.batches TO $login;
	SQL
}

# propose_selection VERDICT BATCH
propose_selection()
{
	psql -qXAt -v ON_ERROR_STOP=1 "${define[@]/#-D/-v}" -v verdict="$1" -v how_many=$((selections * selection)) -v batch="$2" \
		-U "$login" -d inbox_decide -f "$bench/scripts/selection.sql"
}

count_decided()
{
	run_sql inbox_decide -c "
		SELECT count(*)
		  FROM bench.requests b JOIN approval.requests r ON r.tenant = '' AND r.id = b.id::approval.ulid
		 WHERE r.status IN ('approved', 'rejected') AND r.events = 2"
}

# run_selection SIDE: "single", or the call and how many approvals or
# rejections one makes, as in "approve 50"
run_selection()
{
	local side=$1 verdict=${1% *} batch=${1#* } script=bulk steps limit=DEFAULT

	case $side in
		single*) verdict=${side#* }; script=single; batch=1; steps=$((10 + selections * selection)) ;;
		*) steps=$((1 + selections * selection / batch)) ;;
	esac
	[ "$side" != "approve $selection" ] || limit=$selection
	set_login approval.bulk_approvals "$limit"
	propose_selection "$verdict" "$batch"
	run_pgbench inbox_decide "$bench/scripts/$script.sql" -D step=0 -D "verdict=$verdict" -c 1 -t "$steps"
	[ "$(count_decided)" = $((10 + selections * selection)) ] || die "$side has decided $(count_decided) requests"
	awk -v OFS='\t' -v side="$side" -v notify="$notify" -v pair="$pair" -v batch="$batch" \
		'/\/\* decide \*\// {print side, notify, pair, (batch > 1 ? "bulk" : "single"), $1 / batch}' "$work/pgbench" >>"$raw"
}

selections_pair()
{
	local order=('single reject' "reject $selection" 'single approve' "approve $selection" 'approve 50') side

	[ $((pair % 2)) = 1 ] || mapfile -t order < <(printf '%s\n' "${order[@]}" | tac)
	for side in "${order[@]}"; do
		run_selection "$side"
	done
}

measure_selections()
{
	local notify pair

	make_selections
	read_arguments
	set_login synchronous_commit on approval.force_sync on
	for notify in off auto; do
		set_login approval.notify "$notify"
		run_sql postgres -c CHECKPOINT
		for pair in $(seq "$PAIRS"); do
			selections_pair
		done
	done
	set_login approval.notify DEFAULT approval.bulk_approvals DEFAULT
}

inbox()
{
	local raw=$out/inbox.raw.tsv

	say "== inbox: pages where $waiting_few requests wait beside $few and where $PENDING wait beside $FINISHED finished ones; decide_many against decide of $selection; $PAIRS interleaved pairs, one client"
	start_cluster --fsync off --set wal_level=minimal --set max_wal_senders=0
	fill_inbox inbox_few "$few" "$waiting_few"
	fill_inbox inbox_many "$FINISHED" "$PENDING"
	tools/cluster stop "$cluster"
	# what was written with fsync off
	sync
	start_cluster
	printf 'what\thow\tpair\tside\tms\n' >"$raw"
	measure_pages
	measure_selections
	awk -f "$bench/median.awk" -f "$bench/inbox.awk" -v summary="$out/inbox.tsv" "$raw" || missed=1
}
