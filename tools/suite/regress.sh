# Sourced by the pg_regress and isolation suites: runs the program in a
# directory where it finds its input and leaves its output, and says in TAP
# what came out.
#   run_suite PROGRAM INPUT EXPECTED DATABASE TEST...
run_suite()
{
	local program=$1 input=$2 expected=$3 dir code=0 n=0 line diffs
	local old='^(test)? *([A-Za-z0-9_]+) +\.\.\. +(ok|FAILED)'
	local new='^(not )?ok +[0-9]+ +[-+] +([A-Za-z0-9_]+)'

	dir=$top/build/test/$(basename "$0")
	rm -rf "$dir"
	mkdir -p "$dir"
	# All versions look here first or only here.
	ln -s "$input" "$dir/$(basename "$input")"
	ln -s "$expected" "$dir/expected"
	(cd "$dir" && "$program" --bindir="$pg_bindir" --inputdir=. --outputdir=. \
		--dbname="$4" "${@:5}") >"$dir/log" 2>&1 </dev/null || code=$?

	while IFS= read -r line; do
		if [[ $line =~ $old ]]; then
			n=$((n + 1))
			[ "${BASH_REMATCH[3]}" = ok ] || printf 'not '
			echo "ok $n - ${BASH_REMATCH[2]}"
		elif [[ $line =~ $new ]]; then
			n=$((n + 1))
			echo "${BASH_REMATCH[1]}ok $n - ${BASH_REMATCH[2]}"
		fi
	done <"$dir/log"
	if [ $code != 0 ]; then
		diffs=$(find "$dir" -maxdepth 2 -name '*.diffs' -size +0 | head -n 1)
		sed 's/^/# /' "${diffs:-$dir/log}" >&2
		if [ -z "$diffs" ]; then
			n=$((n + 1))
			echo "not ok $n - $(basename "$program") itself"
		fi
	fi
	echo "1..$n"
	return $code
}
