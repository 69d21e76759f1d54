#!/bin/sh
# Builds a Go program: build.sh GO ENTRY ROOT OUT CACHE SHARED LAYER
#
# SHARED is a read-only build cache of the standard library, which may be missing. The go
# command writes into its cache, so the sandbox's own cache has a link to each entry of the
# shared one. trim.txt says that the cache was trimmed today: trimming would remove links to
# entries that are days old.
#
# LAYER is the dependency layer, with downloaded modules and their compiled packages, or
# empty. Its go.mod has the requirements of the project and the added ones. The script copies
# it, as the go command may write to it. The go command identifies compiled packages by their
# module's directory, so this has the same path as when the layer was built.
set -eu
go=$1 entry=$2 root=$3 out=$4 cache=$5 shared=${YURT_GO_CACHE:-$6} layer=$7

export GOCACHE="$cache/go-build" HOME="$cache"
if [ ! -d "$HOME/.config/go/telemetry" ]; then
	mkdir -p "$HOME/.config/go/telemetry"
	echo off >"$HOME/.config/go/telemetry/mode" # telemetry would leave a process behind
fi
if [ ! -d "$GOCACHE" ] && [ -d "$shared" ]; then
	mkdir "$GOCACHE.$$"
	cp -rs --no-preserve=mode "$shared/." "$GOCACHE.$$"
	rm -f "$GOCACHE.$$/trim.txt"
	date +%s >"$GOCACHE.$$/trim.txt"
	mv -T "$GOCACHE.$$" "$GOCACHE" 2>/dev/null || rm -rf "$GOCACHE.$$" # another run was first
fi

build() { exec "$go" build -buildmode=exe -buildvcs=false -ldflags=-w -o "$out/main" "$@"; }

if [ -n "$layer" ]; then
	modules=/tmp/yurt-mod-${layer##*/}
	[ -L "$modules" ] || ln -s "$layer/mod" "$modules" 2>/dev/null || true # another run was first
	export GOMODCACHE="$modules"
	if [ -d "$layer/build" ] && [ ! -e "$cache/compiled-${layer##*/}" ]; then
		mkdir -p "$GOCACHE"
		cp -rsf --no-preserve=mode "$layer/build/." "$GOCACHE"
		: >"$cache/compiled-${layer##*/}"
	fi
	cp "$layer/module/go.mod" "$out/go.mod"
	[ ! -e "$layer/module/go.sum" ] || cp "$layer/module/go.sum" "$out/go.sum"
	chmod u+w "$out"/go.*
fi

cd "$root"
case $entry in
/*) # a snippet, outside the project
	[ -z "$layer" ] || cd "$out"
	build "$entry"
	;;
*/*) cd "./${entry%/*}" ;;
esac
package=$PWD
dir=$package
while [ ! -e "$dir/go.mod" ]; do
	if [ "$dir" = "$root" ] || [ "$dir" = / ]; then
		if [ -n "$layer" ]; then
			printf '{"Replace":{"%s/go.mod":"%s/go.mod","%s/go.sum":"%s/go.sum"}}\n' "$root" "$out" "$root" "$out" >"$out/overlay.json"
			build -overlay "$out/overlay.json" .
		fi
		version=$("$go" env GOVERSION | sed 's/^go\([0-9]*\.[0-9]*\).*/\1/')
		printf 'module app\n\ngo %s\n' "$version" >"$out/go.mod"
		printf '{"Replace":{"%s/go.mod":"%s/go.mod"}}\n' "$root" "$out" >"$out/overlay.json"
		build -overlay "$out/overlay.json" .
	fi
	dir=${dir%/*}
done
[ -z "$layer" ] || build -modfile="$out/go.mod" .
build .
