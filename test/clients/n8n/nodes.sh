# shellcheck shell=bash
# n8n's Postgres nodes, from its package of nodes; source it after lib.sh.

nodes_version=2.41.1
nodes_integrity=sha512-qc1lArqFRVpfXvRonHGhdVwmFrGOulIwKie+Hr5AwBzzOAwushvU+Ty3PSJYWs+C1L6FxpAmpAfiCgpjB/ldSQ==

whole_pack()
{
	[ "sha512-$(openssl dgst -sha512 -binary "$1" 2>/dev/null | base64 -w 0)" = "$nodes_integrity" ]
}

# Into build/n8n: the pack, and of it what is needed.
fetch_nodes()
{
	local dir=$top/build/n8n pack

	pack=$dir/n8n-nodes-base-$nodes_version.tgz
	mkdir -p "$dir"
	if ! whole_pack "$pack"; then
		(cd "$dir" && npm pack --silent "n8n-nodes-base@$nodes_version") >/dev/null 2>"$dir/log" ||
			{ [ -z "${CI:-}" ] || cat "$dir/log" >&2; [ -z "${CI:-}" ]; return 1; }
		whole_pack "$pack" || die "$pack is not the package that was tested"
	fi
	[ -f "$dir/package/dist/nodes/Postgres/Postgres.node.js" ] ||
		tar -xzf "$pack" -C "$dir" package/package.json package/dist/nodes/Postgres package/dist/utils
}
