# shellcheck shell=bash
# n8n's Postgres nodes, from its package of nodes; source it after lib.sh.

nodes_version=2.41.1
nodes_integrity=sha512-qc1lArqFRVpfXvRonHGhdVwmFrGOulIwKie+Hr5AwBzzOAwushvU+Ty3PSJYWs+C1L6FxpAmpAfiCgpjB/ldSQ==

is_whole()
{
	[ -f "$1" ] && [ "sha512-$(node -p 'require("crypto").createHash("sha512").update(require("fs").readFileSync(process.argv[1])).digest("base64")' "$1")" = "$nodes_integrity" ]
}

# Into build/n8n: the pack, and of it what is needed.
fetch_nodes()
{
	# shellcheck disable=SC2154 # lib.sh says where the top is
	local dir=$top/build/n8n pack

	pack=$dir/n8n-nodes-base-$nodes_version.tgz
	mkdir -p "$dir"
	if ! is_whole "$pack"; then
		rm -rf "$dir/package"
		(cd "$dir" && npm pack --silent "n8n-nodes-base@$nodes_version") >"$dir/log" 2>&1 || return 1
		is_whole "$pack" || die "$pack is not the package that this test is for"
	fi
	[ -f "$dir/package/dist/nodes/Postgres/Postgres.node.js" ] ||
		tar -xzf "$pack" -C "$dir" package/package.json package/dist/nodes/Postgres package/dist/utils
}
