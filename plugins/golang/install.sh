#!/bin/sh
# Downloads the modules of a Go program, and compiles their packages:
# install.sh GO LAYER MOUNT SHARED REQUIREMENT...
# A go.mod of the project is in LAYER/module already. MOUNT is the path of LAYER in runs.
# SHARED is a read-only build cache of the standard library, which may be missing.
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

# The go command identifies compiled packages by their module's directory, so this has the same path
# as in runs; see build.sh. Runs compile the packages that do not compile here in time.
ln -s "$GOMODCACHE" "/tmp/yurt-mod-${mount##*/}"
export GOMODCACHE="/tmp/yurt-mod-${mount##*/}" GOCACHE=/tmp/go-build CGO_ENABLED=0
mkdir "$GOCACHE"
[ ! -d "$shared" ] || cp -rs --no-preserve=mode "$shared/." "$GOCACHE"
export GOPROXY=off # all downloads are done
modules=$("$go" list -m -f '{{if not .Main}}{{.Path}}/...{{end}}' all)
# shellcheck disable=SC2086 # a path of a module has no spaces
packages=$("$go" list -e -f '{{if not (or .Error .DepsErrors)}}{{.ImportPath}}{{end}}' ${modules:-cmd/none} 2>/dev/null || true)
# shellcheck disable=SC2086
[ -z "$packages" ] || timeout 120 "$go" build -buildvcs=false $packages || echo "some packages are compiled only when runs use them" >&2
find "$GOCACHE" ! -type d ! -type f -delete # the standard library
rm -f "$GOCACHE/trim.txt"
mv "$GOCACHE" "$layer/build"
