#!/bin/sh
# Runs npm with the sandbox's headers of Node: install.sh NODE NPM ARGUMENT...
# npm compiles packages with them; it would else fetch them from a host that is no registry.
set -eu
prefix=$(dirname "$(dirname "$(readlink -f "$1")")")
shift
if [ -e "$prefix/include/node/node.h" ]; then
	export npm_package_config_node_gyp_nodedir="$prefix"
fi
exec "$@"
