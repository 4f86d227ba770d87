# shellcheck shell=bash
# How the demo speaks and listens; sourced by demo/run, which sets "check".

scratch=$(mktemp -d)
steps=0
chapters=0
answer=
format=expanded
bold='' plain=''
if [ -z "$check" ] && [ -t 1 ]; then
	bold=$'\e[1m' plain=$'\e[0m'
fi

# Everything but results is a comment to a reader of TAP.
out() { if [ -n "$check" ]; then sed 's/^/# /'; else cat; fi; }

chapter()
{
	chapters=$((chapters + 1))
	printf '\n%s%s. %s%s\n' "$bold" "$chapters" "$1" "$plain" | out
}

tell() { { echo; fold -s -w 100 <<<"$*" | sed 's/ *$//'; } | out; }

command_line() { printf '\n$ %s\n' "$1" | out; }

show_file() { { echo; sed '/./s/^/    /' "$1"; } | out; }

# The answer of a server.  DETAIL is one line of JSON, which is folded here.
show_answer() { sed '/^$/d; /^DETAIL/s/,"/, "/g' | fold -s -w 106 | sed 's/ *$//; s/^/    /' | out; }

# With psql's prompts: -> goes on with a statement.
show_sql()
{
	local line prompt='=>'

	{
		echo
		while IFS= read -r line; do
			printf '%s%s %s\n' "$1" "$prompt" "$line"
			case $line in *\;) prompt='=>' ;; *) prompt='->' ;; esac
		done <<<"$2"
	} | out
}

# psql as one of the logins.  SQLSTATEs are shown, places in our source are not.
session()
{
	local login=$1
	local options=(-X -q -U "$login" -v VERBOSITY=verbose -P pager=off -P footer=off)

	[ "$format" = aligned ] || options+=(-x)
	psql "${options[@]}" 2>&1 | sed '/^LOCATION: /d; /^-\[ RECORD/d'
}

# ask LOGIN <SQL: shows the statements and what the gate answers.
ask()
{
	local login=$1 sql

	sql=$(cat)
	show_sql "$login" "$sql"
	answer=$(session "$login" <<<"$sql")
	show_answer <<<"$answer"
}

# value LOGIN SQL: one value, nothing shown.
value() { psql -XqAt -U "$1" -c "$2"; }

result()
{
	steps=$((steps + 1))
	if [ "$1" = ok ]; then
		[ -z "$check" ] || echo "ok $steps - $2"
		return
	fi
	if [ -n "$check" ]; then
		echo "not ok $steps - $2"
	else
		printf '\nThis is not the expected answer: %s\n' "$2" >&2
	fi
	exit 1
}

passed() { result ok "$1"; }

# expect NAME PATTERN...: the last answer has a line for each pattern.
expect()
{
	local name=$1 pattern

	shift
	for pattern in "$@"; do
		grep -qE -- "$pattern" <<<"$answer" || result 'not ok' "$name (no $pattern)"
	done
	passed "$name"
}

# together ID SEEN ACTOR ACTOR: two managers in two sessions of the web
# application.  Both wait for a lock that a third session gives back when both
# are there.
together()
{
	local gate=7001 actor holder waiting=0 sql racers=()

	coproc HOLDER { psql -XqAt -U postgres; }
	holder=$HOLDER_PID
	echo "SELECT 'held' FROM pg_advisory_lock($gate);" >&"${HOLDER[1]}"
	read -r -u "${HOLDER[0]}" _
	for actor in "$3" "$4"; do
		sql="SELECT status, decided_by
FROM approval.approve('$1',
                      '$2',
                      actor => '$actor');"
		show_sql web "$sql"
		printf '%s\n' "SELECT FROM pg_advisory_lock_shared($gate) \\g /dev/null" "$sql" |
			session web >"$scratch/$actor" &
		racers+=($!)
	done
	for _ in $(seq 200); do
		waiting=$(value postgres "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
		[ "$waiting" != 2 ] || break
		sleep 0.05
	done
	echo '\q' >&"${HOLDER[1]}"
	wait "${racers[@]}" "$holder" || true
	[ "$waiting" = 2 ] || result 'not ok' 'both managers are ready'
}

# one_of_them_won ACTOR ACTOR: whichever it was, the other one was told.
one_of_them_won()
{
	local actor loser=

	winner=
	for actor in "$@"; do
		printf '\nanswer to %s:\n' "$actor" | out
		show_answer <"$scratch/$actor"
		if grep -q '^ERROR' "$scratch/$actor"; then loser=$actor; else winner=$actor; fi
	done
	answer=$(cat "$scratch/${winner:-$1}")
	expect 'one manager wins' '^status .* approved' "^decided_by .* $winner\$"
	answer=$(cat "$scratch/${loser:-$1}")
	expect 'the other one is told who was first' '^ERROR: +PT409: ' "already_decided.*\"decided_by\":\"$winner\""
}

finish()
{
	local code=$?

	rm -rf "$scratch"
	[ -z "$check" ] || [ $code != 0 ] || echo "1..$steps"
	if [ -n "$check" ]; then
		tools/cluster destroy demo
	else
		tools/cluster stop demo
	fi
	exit $code
}

the_end()
{
	tell 'The server is stopped; its database is kept until the next run. To look around:'
	{
		echo
		echo '    tools/cluster start demo'
		# shellcheck disable=SC2016
		echo '    eval "$(tools/cluster env demo)"'
		echo '    psql -U web shop'
	} | out
}
