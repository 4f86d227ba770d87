# Shared by the scripts in tools/; source it.  Leaves the caller in the
# checkout's top directory.

umask 022
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# pg_config of the server to use: $PG_CONFIG, else the one in PATH, else the
# newest of Debian's.  Only one that can build counts: libpq-dev brings
# another, and Debian's client packages have PGXS without any headers.
find_pg_config()
{
	local c list

	if [ "${PG_CONFIG:-pg_config}" != pg_config ]; then
		list=$PG_CONFIG
	else
		list="pg_config $(ls -vd /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | tac)"
	fi
	for c in $list; do
		c=$(command -v "$c") || continue
		[ -f "$("$c" --pgxs 2>/dev/null)" ] && [ -x "$("$c" --bindir)/postgres" ] &&
			[ -f "$("$c" --includedir-server)/postgres.h" ] || continue
		printf '%s\n' "$c"
		return 0
	done
	return 1
}

# Sets PG_CONFIG and the directories that depend on it.
use_pg_config()
{
	PG_CONFIG=$(find_pg_config) || die "no PostgreSQL server found; run \"make deps\" or set PG_CONFIG"
	export PG_CONFIG
	pg_major=$("$PG_CONFIG" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
	pg_bindir=$("$PG_CONFIG" --bindir)
	pg_sharedir=$("$PG_CONFIG" --sharedir)
	pg_pkglibdir=$("$PG_CONFIG" --pkglibdir)
	pg_pgxsdir=$(dirname "$(dirname "$(dirname "$("$PG_CONFIG" --pgxs)")")")
}

# The checkout's owner, if root works on somebody else's checkout.
other_owner()
{
	local owner

	[ "$(id -u)" = 0 ] || return 1
	owner=$(stat -c %U "$top")
	[ "$owner" != root ] && id "$owner" >/dev/null 2>&1 && echo "$owner"
}

# With "exec_as_owner "$0" "$@"" a script goes on as the checkout's owner, so
# that nothing of root's is left behind that the owner cannot remove.
exec_as_owner()
{
	local owner

	owner=$(other_owner) || return 0
	exec setpriv --reuid="$owner" --regid="$(id -g "$owner")" --init-groups \
		env HOME="$(home_of "$owner")" USER="$owner" LOGNAME="$owner" "$@"
}

home_of() { getent passwd "$1" | cut -d : -f 6; }

# The Node.js that tools/npm has installed, if the system's was too old.
use_node()
{
	[ ! -x "$top/build/nodejs/bin/node" ] || PATH=$top/build/nodejs/bin:$PATH
}

# PostgreSQL refuses to run as root.  Root's servers belong to "postgres", else
# to "nobody".
server_user()
{
	if [ "$(id -u)" != 0 ]; then
		id -un
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

# as USER COMMAND...: runs the command as that user.
as()
{
	local user=$1

	shift
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups \
			env HOME="$(home_of "$user")" USER="$user" LOGNAME="$user" "$@"
	else
		"$@"
	fi
}
