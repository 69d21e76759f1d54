#!/bin/sh
# Runs npm, which finds Node's headers where they are in the sandbox: install.sh NODE NPM ARGUMENT...
# Packages are compiled with them; else they would be fetched from a host that is no registry.
set -eu
prefix=$(dirname "$(dirname "$(readlink -f "$1")")")
shift
if [ -e "$prefix/include/node/node.h" ]; then
	export npm_package_config_node_gyp_nodedir="$prefix"
fi
exec "$@"
