# How long a listener waits for what was committed: decisions announced by the
# worker under load against NOTIFY in the transaction on an idle server; what
# becomes due, announced by the worker; and sessions that wait() for nothing.
# Sourced by test/bench/run, after lib.sh and doorbell.sh.
# shellcheck shell=bash

if [ -n "${QUICK:-}" ]; then
	: "${RATE_SECONDS:=5}" "${DEADLINES:=1000}" "${WAITS:=100}" "${WAIT_SECONDS:=5}"
fi
: "${RATE:=500}" "${RATE_SECONDS:=20}" "${DEADLINES:=10000}" "${WAITS:=500}" "${WAIT_SECONDS:=20}"

client() { "$bench/latency.pl" "$1" latency "$login" "${@:2}"; }

# percentile FILE PERCENT: of numbers, one a line
percentile() { sort -g "$1" | awk -v p="$2" '{v[NR] = $1} END {i = int(NR * p / 100 + 0.9999); print v[i < 1 ? 1 : i]}'; }

# start_listener FILE: everything that rings, until stop_listener
start_listener()
{
	"$bench/latency.pl" listen latency "$login" "$1" 9>&- &
	listener=$!
	until [ "$(run_sql postgres -c "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN approval'")" = 1 ]; do
		sleep 0.1
	done
}

stop_listener() { sleep 1; kill "$listener"; wait "$listener" || true; }

# decisions SIDE RATE LABEL: a table row, in milliseconds from the answer of
# the decision to its notification, and from the question
decisions()
{
	local side=$1 rate=$2 label=$3 clients=4 count n deciders=()

	[ "$rate" -gt 50 ] || clients=1
	count=$((rate * RATE_SECONDS))
	set_login approval.notify off
	psql -qXAt -F ' ' -v ON_ERROR_STOP=1 -U "$login" -d latency >"$work/requests" <<-SQL
		SELECT p.id, p.review_hash FROM generate_series(1, $count) i,
			approval.propose('$label-' || i, 'refund', '{"amount":120}', expires_in => '1 hour') p
	SQL
	set_login approval.notify "$side"
	rm -f "$work"/heard "$work"/decided.*
	start_listener "$work/heard"
	for n in $(seq "$clients"); do
		awk -v n="$n" -v clients="$clients" 'NR % clients == n - 1' "$work/requests" |
			client decide "$work/decided.$n" $((rate / clients)) 9>&- &
		deciders+=($!)
	done
	wait "${deciders[@]}"
	stop_listener
	cat "$work"/decided.* >"$work/decided"
	awk '
		NR == FNR {asked[$1] = $2; answered[$1] = $3; next}
		$2 == "approved" && $1 in asked {print ($3 - answered[$1]) * 1000, ($3 - asked[$1]) * 1000; delete asked[$1]}
		END {for (id in asked) lost++; if (lost) print lost " lost" >"/dev/stderr"; exit lost > 0}
	' "$work/decided" "$work/heard" >"$work/took" || missed=1
	cut -d ' ' -f 1 "$work/took" >"$work/after"
	cut -d ' ' -f 2 "$work/took" >"$work/whole"
	p50=$(percentile "$work/after" 50) p99=$(percentile "$work/after" 99)
	whole50=$(percentile "$work/whole" 50) whole99=$(percentile "$work/whole" 99)
	printf '%-12s %6s %9s   %7.2f %7.2f   %7.2f %7.2f\n' "$side" "$rate" "$(wc -l <"$work/took")" "$p50" "$p99" "$whole50" "$whole99" | tee -a "$out/latency.txt"
}

# Requests whose deadlines are spread over a minute.
deadlines()
{
	local count=$DEADLINES p50 p99 verdict=ok

	set_login approval.notify worker
	run_sql postgres -c "ALTER SYSTEM SET approval.min_decide_within = '1s'" -c 'SELECT pg_reload_conf()' >/dev/null
	sleep 1
	rm -f "$work/heard"
	start_listener "$work/heard"
	psql -qXAt -v ON_ERROR_STOP=1 -U "$login" -d latency >/dev/null <<-SQL
		SELECT count(approval.propose('due-' || i, 'refund', '{"amount":120}',
			expires_in => '10 s'::interval + i * '1 minute'::interval / $count)) FROM generate_series(1, $count) i
	SQL
	until [ "$(run_sql latency -c "SELECT count(*) FROM approval.events WHERE kind = 'expired'")" = "$count" ]; do
		sleep 2
	done
	stop_listener
	run_sql latency -F ' ' -c "SELECT id, extract(epoch FROM expires_at) FROM approval.requests WHERE status = 'expired'" >"$work/due"
	awk 'NR == FNR {due[$1] = $2; next} $2 == "expired" && $1 in due {print ($3 - due[$1]) * 1000}' "$work/due" "$work/heard" >"$work/took"
	p50=$(percentile "$work/took" 50) p99=$(percentile "$work/took" 99)
	[ "$(wc -l <"$work/took")" = "$count" ] && awk -v p="$p99" 'BEGIN {exit !(p < 100)}' || { verdict=MISSED; missed=1; }
	printf '%s deadlines in a minute: p50 %.1f ms, p99 %.1f ms after the deadline, target p99 < 100 ms %s\n' "$(wc -l <"$work/took")" "$p50" "$p99" "$verdict" | tee -a "$out/latency.txt"
}

# Hundredths of a second that the sessions and the worker have used.
waiting_cpu()
{
	local pid

	for pid in $(run_sql postgres -c "SELECT pid FROM pg_stat_activity WHERE datname = 'latency' OR backend_type LIKE 'approval%'"); do
		awk '{sub(/.*\) /, ""); print $12 + $13}' "/proc/$pid/stat" 2>/dev/null || true
	done | awk '{sum += $1} END {print sum + 0}'
}

waits()
{
	local id hash before used answers verdict=ok

	read -r id hash < <(psql -qXAt -F ' ' -U "$login" -d latency -c "SELECT id, review_hash FROM approval.propose('wait', 'refund', '{}', expires_in => '2 hours')")
	rm -f "$work/in" "$work/out"
	mkfifo "$work/in"
	client wait "$WAITS" <"$work/in" >"$work/out" 9>&- &
	exec 7>"$work/in"
	echo "$id" >&7
	until [ "$(run_sql latency -c 'SELECT waits FROM approval.worker_state()')" = "$WAITS" ]; do sleep 0.2; done
	sleep 2
	before=$(waiting_cpu)
	sleep "$WAIT_SECONDS"
	used=$(($(waiting_cpu) - before))
	# so that the answers are timed from the decision
	echo go >&7
	psql -qXAt -U "$login" -d latency -c "SELECT FROM approval.approve('$id', '$hash', 'user:42')" >/dev/null
	wait $!
	exec 7>&-
	answers=$(tail -n 1 "$work/out")
	[ "$used" -le 1 ] && [[ $answers = "$WAITS answers"* ]] || { verdict=MISSED; missed=1; }
	printf '%s sessions in wait() for %s s: %s hundredths of a second of processor time in all, target nil %s; then %s\n' \
		"$WAITS" "$WAIT_SECONDS" "$used" "$verdict" "$answers" | tee -a "$out/latency.txt"
}

latency()
{
	local listener p50 p99 whole50 whole99 idle verdict=ok

	say "== latency: from the commit to a listener, fsync and synchronous_commit on"
	start_preloaded --set max_connections=$((WAITS + 50)) --set approval.waits_per_login="$WAITS" --set approval.max_wait=2h
	run_sql postgres -c 'DROP DATABASE IF EXISTS latency' -c 'CREATE DATABASE latency' >/dev/null
	run_sql latency -c 'CREATE EXTENSION approval'
	make_login latency
	set_login synchronous_commit on approval.force_sync on
	: >"$out/latency.txt"
	printf '%-12s %6s %9s   %-15s   %s\n' notify rate/s decisions 'after the answer' 'after the question (p50 p99, ms)' | tee -a "$out/latency.txt"
	decisions transaction 20 idle
	idle=$whole99
	decisions worker 20 idle2
	decisions worker "$RATE" load
	awk -v a="$whole99" -v b="$idle" 'BEGIN {exit !(a - b <= 10)}' || { verdict=MISSED; missed=1; }
	printf 'p99 with the worker at %s/s is %.2f ms above that in the transaction when idle, target 10 ms %s\n' "$RATE" "$(awk -v a="$whole99" -v b="$idle" 'BEGIN {print a - b}')" "$verdict" | tee -a "$out/latency.txt"
	decisions transaction "$RATE" load2
	deadlines
	waits
}
