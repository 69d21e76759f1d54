#!/bin/sh
# Builds a Rust program: build.sh RUSTC CARGO ENTRY ROOT OUT CACHE LAYER
# CARGO may be empty. The program is $OUT/main. LAYER is the dependency layer, with downloaded
# crates and their compiled libraries, or empty. Cargo identifies compiled crates by the directory
# of their sources, so this has the same path as when the layer was built.
set -eu
rustc=$1 cargo=$2 entry=$3 root=$4 out=$5 cache=$6 layer=$7
export HOME="$cache" CARGO_PROFILE_DEV_BUILD_OVERRIDE_DEBUG=false CARGO_TERM_QUIET="${CARGO_TERM_QUIET:-true}"

# take_compiled adds the layer's compiled crates to cargo's target directory: libraries and programs
# as links, and the files that cargo may write to as copies.
take_compiled() {
	taken=$target/crates-${layer##*/}
	if [ ! -d "$layer/target" ] || [ -e "$taken" ]; then return; fi
	mkdir -p "$target/debug"
	cp -rn --preserve=timestamps "$layer/target/.fingerprint" "$target/debug"
	mkdir -p "$target/debug/build"
	for output in "$layer"/target/build/*/output; do # of a build script
		[ ! -e "$output" ] || cp -rn --preserve=timestamps "${output%/output}" "$target/debug/build"
	done
	cp -rsn --no-preserve=mode "$layer/target/deps" "$layer/target/build" "$target/debug"
	: >"$taken"
}

# build builds the package of the working directory with cargo.
build() {
	# Each project has its own target directory and keeps it for the next build.
	target=$cache/target/$(printf %s "$1" | cksum | tr ' ' -)
	if [ -n "$layer" ]; then
		[ -e Cargo.lock ] || [ ! -e "$layer/package/Cargo.lock" ] || cp "$layer/package/Cargo.lock" .
		crates=/tmp/yurt-crates-${layer##*/}
		[ -L "$crates" ] || ln -s "$layer/vendor" "$crates" 2>/dev/null || true # another run was first
		take_compiled
		"$cargo" build --offline --target-dir "$target" --config 'source.crates-io.replace-with="yurt"' --config "source.yurt.directory='$crates'"
	else
		"$cargo" build --offline --target-dir "$target"
	fi
}

case $entry in
/*) ;; # a snippet, outside the project
*)
	cd "$root"
	dir=./$entry
	while [ "$dir" != . ]; do
		dir=${dir%/*}
		[ -e "$dir/Cargo.toml" ] || continue
		if [ -z "$cargo" ]; then
			echo "error: $dir/Cargo.toml needs cargo, which is not in this template" >&2
			exit 1
		fi
		cd "$dir"
		build "$PWD"
		package=$(sed -n 's/^name *= *"\([^"]*\)".*/\1/p' Cargo.toml | head -n 1)
		# src/main.rs has the name of the package, src/bin/x.rs its own.
		for name in "$(basename "$entry" .rs)" "$package"; do
			if [ -x "$target/debug/$name" ]; then
				ln -sf "$target/debug/$name" "$out/main"
				exit
			fi
		done
		echo "error: the package makes no program" >&2
		exit 1
	done
	;;
esac
if [ -n "$layer" ] && [ -n "$cargo" ]; then # a snippet that needs crates is a package
	mkdir -p "$out/package/src"
	cp "$entry" "$out/package/src/main.rs"
	cp "$layer/package/Cargo.toml" "$layer/package/Cargo.lock" "$out/package"
	chmod -R u+w "$out/package"
	cd "$out/package"
	mkdir -p "$cache/target"
	exec 9>"$cache/target/lock" # another snippet makes a program of the same name
	if command -v flock >/dev/null; then flock 9; fi
	build "$layer"
	cp "$target/debug/main" "$out/main"
	exit
fi
# The remapped prefix removes a snippet's directory from panics and backtraces.
exec "$rustc" --remap-path-prefix "${entry%/*}/=" --crate-name main --edition 2021 -C prefer-dynamic -C rpath -C debuginfo=1 -C opt-level=1 -C debug-assertions=on -o "$out/main" "$entry"
