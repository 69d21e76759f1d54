#!/bin/sh
# Downloads the modules of a Go program, and compiles their packages:
# install.sh GO LAYER MOUNT SHARED REQUIREMENT...
# A go.mod that the project has is in LAYER/module already. MOUNT is where runs have LAYER,
# SHARED a read-only build cache of the standard library, or not there.
set -eu
go=$1 layer=$2 mount=$3 shared=${YURT_GO_CACHE:-$4}
shift 4
export GOMODCACHE="$layer/mod" GOFLAGS="-mod=mod -modcacherw" HOME=/tmp GOPATH=/tmp/go GOTOOLCHAIN=local GOTELEMETRY=off
mkdir -p "$GOMODCACHE" "$layer/module"
cd "$layer/module"
[ -e go.mod ] || "$go" mod init app
[ $# -eq 0 ] || "$go" get -- "$@"
"$go" mod download
rm -rf "$GOMODCACHE/cache/vcs"

# What is compiled of a module is known by the directory of that, so it gets the name that it
# has in runs; see build.sh. What cannot be compiled, or not in time, runs compile themselves.
ln -s "$GOMODCACHE" "/tmp/yurt-mod-${mount##*/}"
export GOMODCACHE="/tmp/yurt-mod-${mount##*/}" GOCACHE=/tmp/go-build CGO_ENABLED=0
mkdir "$GOCACHE"
[ ! -d "$shared" ] || cp -rs --no-preserve=mode "$shared/." "$GOCACHE"
export GOPROXY=off # nothing more is to come
modules=$("$go" list -m -f '{{if not .Main}}{{.Path}}/...{{end}}' all)
# shellcheck disable=SC2086 # a path of a module has no spaces
packages=$("$go" list -e -f '{{if not (or .Error .DepsErrors)}}{{.ImportPath}}{{end}}' ${modules:-cmd/none} 2>/dev/null || true)
# shellcheck disable=SC2086
[ -z "$packages" ] || timeout 120 "$go" build -buildvcs=false $packages || echo "some packages are compiled only when runs use them" >&2
find "$GOCACHE" ! -type d ! -type f -delete # the standard library
rm -f "$GOCACHE/trim.txt"
mv "$GOCACHE" "$layer/build"
