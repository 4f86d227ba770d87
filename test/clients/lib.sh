# shellcheck shell=bash
# A private server for the test of a client; source it as test/clients/NAME/run.
#
#   [LOGINS=FILE] begin_server [--preload] [--set NAME=VALUE]...
#
# makes the cluster client-NAME with the database "shop", which has the
# extension and what FILE makes (demo/logins.sql), and exports what libpq reads.
# It is gone when the script ends.  What the test is to keep goes to $out.

. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
use_node

client=$(basename "$(dirname "$0")")
cluster=client-$client
out=$top/build/test/clients_$client
mkdir -p "$out"

end_server() { tools/cluster destroy "$cluster"; }

begin_server()
{
	[ -d build/stage ] || demo/stage
	end_server
	trap 'end_server' EXIT
	trap 'exit 130' INT TERM
	tools/cluster start "$cluster" --fsync off "$@"
	eval "$(tools/cluster env "$cluster")"
	psql -Xqc 'CREATE DATABASE shop'
	export PGDATABASE=shop
	psql -Xq -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION approval' -f "${LOGINS:-demo/logins.sql}" >/dev/null
}
