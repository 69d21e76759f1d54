#!/bin/sh
# Downloads the crates of a Rust program: install.sh CARGO LAYER
# LAYER/package/Cargo.toml, and perhaps Cargo.lock, are there already.
set -eu
cargo=$1 layer=$2
export CARGO_HOME=/tmp/cargo HOME=/tmp
index=${YURT_CARGO_INDEX:-sparse+https://index.crates.io/}
mkdir -p "$CARGO_HOME" "$layer/package/src"
printf '[source.crates-io]\nreplace-with = "yurt"\n[source.yurt]\nregistry = "%s"\n' "$index" >"$CARGO_HOME/config.toml"
case $("$cargo" --version) in
"cargo 1.6"[0-7].*) # which know such an index, and do not dare to say so
	export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_SPARSE_REGISTRY=true
	;;
esac
[ -e "$layer/package/src/main.rs" ] || echo 'fn main() {}' >"$layer/package/src/main.rs"
cd "$layer/package"
"$cargo" vendor --versioned-dirs ../vendor >/dev/null
