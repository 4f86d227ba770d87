# expire_due against the same rows put away by hand: one UPDATE of the requests
# with an INSERT of their events, whose hashes are constants and which nothing
# guards.  Sourced by test/bench/run, after lib.sh.
# shellcheck shell=bash

if [ -n "${QUICK:-}" ]; then
	: "${DUE:=50000}"
fi
: "${DUE:=1000000}" "${EXPIRE_PAIRS:=3}"

# expire_side SIDE SQL
expire_side()
{
	local side=$1 began

	run_sql postgres -c 'DROP DATABASE IF EXISTS expire_side' -c 'CREATE DATABASE expire_side TEMPLATE expire' -c CHECKPOINT >/dev/null
	# into memory, and hint bits set
	run_sql expire_side -c 'SELECT count(*), count(arguments::text) FROM approval.requests' >/dev/null
	began=$(date +%s%N)
	run_sql expire_side -c "$2" >"$work/expired"
	took=$((($(date +%s%N) - began) / 1000000))
	[ "$(run_sql expire_side -c "SELECT count(*) FROM approval.events WHERE kind = 'expired'")" = "$DUE" ] ||
		die "$side has not put away $DUE rows"
	printf '%s\t' "$pair" "$side" >>"$raw"
	printf '%s\n' "$took" >>"$raw"
}

expire_pair()
{
	local ours="SET approval.notify = off; SELECT approval.expire_due($DUE)"
	local rings="SET approval.notify = transaction; SELECT approval.expire_due($DUE)"
	local bare="SET session_replication_role = replica;
		WITH r AS (
			UPDATE approval.requests
			   SET status = 'expired', cause = 'decide_deadline', due_at = NULL, events = events + 1, row_digest = head, head = row_digest
			 WHERE due_at <= statement_timestamp()
			RETURNING *)
		INSERT INTO approval.events (tenant, request_id, n, origin, at, kind, actor, login, role, client,
			status_before, status_after, action_hash, review_hash, row_digest, previous, hash)
		SELECT r.tenant, r.id, r.events, 7714101331448530312, statement_timestamp(), 'expired', 'login:postgres', 'postgres', 'postgres', '[local]',
			'pending', r.status, r.action_hash, r.review_hash, r.row_digest, r.row_digest, r.head
		  FROM r"

	if [ $((pair % 2)) = 1 ]; then
		expire_side ours "$ours"
		expire_side bare "$bare"
	else
		expire_side bare "$bare"
		expire_side ours "$ours"
	fi
	[ "$pair" != 1 ] || expire_side rings "$rings"
}

expire()
{
	local pair took raw=$out/expire.raw.tsv

	say "== expire: expire_due of $DUE requests against a bare UPDATE and INSERT, $EXPIRE_PAIRS pairs"
	start_cluster --set approval.min_decide_within=1s --set approval.quota_login=0 --set approval.quota_tenant=0
	printf 'pair\tside\tms\n' >"$raw"
	run_sql postgres -c 'DROP DATABASE IF EXISTS expire' -c 'CREATE DATABASE expire' >/dev/null
	run_sql expire -c 'CREATE EXTENSION approval'
	run_sql expire -c "SET approval.notify = off; SELECT count(approval.propose('call-' || i, 'refund', '{\"amount\":120}', expires_in => '1 s')) FROM generate_series(1, $DUE) i" >/dev/null
	run_sql expire -c 'VACUUM (FREEZE, ANALYZE)' -c 'SELECT pg_sleep(2)' >/dev/null
	for pair in $(seq "$EXPIRE_PAIRS"); do
		expire_pair
	done
	run_sql postgres -c 'DROP DATABASE expire' -c 'DROP DATABASE expire_side'
	awk -f "$bench/median.awk" -f "$bench/expire.awk" -v summary="$out/expire.tsv" "$raw" || missed=1
}
