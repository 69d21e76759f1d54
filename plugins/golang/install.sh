#!/bin/sh
# Downloads the modules of a Go program: install.sh GO LAYER REQUIREMENT...
# A go.mod that the project has is in LAYER/module already.
set -eu
go=$1 layer=$2
shift 2
export GOMODCACHE="$layer/mod" GOFLAGS="-mod=mod -modcacherw" HOME=/tmp GOPATH=/tmp/go GOTOOLCHAIN=local GOTELEMETRY=off
mkdir -p "$GOMODCACHE" "$layer/module"
cd "$layer/module"
[ -e go.mod ] || "$go" mod init app
[ $# -eq 0 ] || "$go" get -- "$@"
"$go" mod download
rm -rf "$GOMODCACHE/cache/vcs"
