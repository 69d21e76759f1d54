#!/bin/sh
# Builds a Rust program: build.sh RUSTC CARGO ENTRY ROOT OUT CACHE
# CARGO may be empty. What is to be started is $OUT/main.
set -eu
rustc=$1 cargo=$2 entry=$3 root=$4 out=$5 cache=$6
export HOME="$cache"

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
		# Projects do not mix, though they keep what was built for the next time.
		target=$cache/target/$(printf %s "$PWD" | cksum | tr ' ' -)
		"$cargo" build --quiet --offline --target-dir "$target"
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
exec "$rustc" --crate-name main --edition 2021 -C prefer-dynamic -C rpath -C debuginfo=1 -C opt-level=1 -C debug-assertions=on -o "$out/main" "$entry"
