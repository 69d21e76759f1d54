#!/bin/sh
# Downloads the crates of a Rust program, and compiles them: install.sh CARGO LAYER MOUNT
# LAYER/package/Cargo.toml, and perhaps Cargo.lock, exist already. MOUNT is the path of LAYER
# in runs.
set -eu
cargo=$1 layer=$2 mount=$3
export CARGO_HOME=/tmp/cargo HOME=/tmp
index=${YURT_CARGO_INDEX:-sparse+https://index.crates.io/}
mkdir -p "$CARGO_HOME" "$layer/package/src"
printf '[source.crates-io]\nreplace-with = "yurt"\n[source.yurt]\nregistry = "%s"\n' "$index" >"$CARGO_HOME/config.toml"
case $("$cargo" --version) in
"cargo 1.6"[0-7].*) # these support a sparse index only as an unstable feature
	export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_SPARSE_REGISTRY=true
	;;
esac
[ -e "$layer/package/src/main.rs" ] || echo 'fn main() {}' >"$layer/package/src/main.rs"
cd "$layer/package"
"$cargo" vendor --versioned-dirs ../vendor >/dev/null

# Cargo identifies compiled crates by their directory, so this has the same path as in runs; see
# build.sh. Runs compile the crates that do not compile here in time. The package's own sources are
# stand-ins, and their output is removed.
ln -s "$layer/vendor" "/tmp/yurt-crates-${mount##*/}"
export CARGO_HOME=/tmp/cargo-offline CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_BUILD_OVERRIDE_DEBUG=false
target=/tmp/target
timeout 240 "$cargo" build --quiet --offline --target-dir "$target" --config 'source.crates-io.replace-with="yurt"' \
	--config "source.yurt.directory='/tmp/yurt-crates-${mount##*/}'" || echo "some crates are compiled only when runs use them" >&2
[ -d "$target/debug/deps" ] || exit 0
package=$(sed -n 's/^name *= *"\([^"]*\)".*/\1/p' Cargo.toml | head -n 1)
hash='????????????????'
cd "$target/debug"
find deps -type f ! -name 'lib*' -delete
# shellcheck disable=SC2086 # the hash is a pattern
rm -rf .fingerprint/"$package"-$hash build/"$package"-$hash deps/lib"$(printf %s "$package" | tr - _)"-$hash.*
mkdir "$layer/target"
mv deps build .fingerprint "$layer/target"
