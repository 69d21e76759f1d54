# Compiles C# with the compiler of a .NET SDK, or with Mono's if .NET is only a runtime without SDK:
# dotnet.sh DOTNET MCS OUT FLAG-OR-SOURCE…
# MCS is empty without Mono. OUT gets main.dll and its settings, or main.exe.
dotnet=$1 mcs=$2 out=$3
shift 3
root=$(readlink -f -- "$dotnet") && root=${root%/*}

# newest prints the path of the highest version among its arguments.
newest() {
	printf '%s\n' "$@" | sort -V | tail -n 1
}

csc=$(newest "$root"/sdk/*/Roslyn/bincore/csc.dll)
if [ ! -e "$csc" ]; then
	[ -z "$mcs" ] || exec /bin/sh "${0%/*}/mono.sh" "$mcs" -out:"$out/main.exe" "$@"
	echo "error CS0000: $root has no SDK, only a runtime of .NET: install the .NET SDK" >&2
	exit 1
fi
release=${csc#"$root/sdk/"}
major=${release%%.*}
release=${release#*.}
release=$major.${release%%.*}
references=$(newest "$root"/packs/Microsoft.NETCore.App.Ref/"$release".*/ref/*/System.Runtime.dll)
if [ ! -e "$references" ]; then
	echo "error CS0000: $root has no reference assemblies of .NET $release: install the .NET SDK with its targeting pack" >&2
	exit 1
fi
for reference in "${references%/*}"/*.dll; do
	set -- "$@" "-r:$reference"
done

# Without a version of ICU that it knows, .NET ends at once unless this setting turns off its use.
invariant=',"configProperties":{"System.Globalization.Invariant":true,"System.Globalization.PredefinedCulturesOnly":false}'
if [ "$major" -ge 5 ]; then
	for icu in /usr/lib/libicuuc.so.* /usr/lib64/libicuuc.so.* /usr/lib/*/libicuuc.so.*; do
		[ ! -e "$icu" ] || invariant=
	done
fi
printf '{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"%s.0"}%s}}\n' "$release" "$invariant" >"$out/main.runtimeconfig.json" || exit

# The compiler would choose the garbage collector for servers, which has a heap for each processor.
export COMPlus_gcServer=0 DOTNET_gcServer=0 COMPlus_EnableDiagnostics=0 DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1
"$dotnet" exec "$csc" -noconfig -nostdlib -utf8output -deterministic -define:SYSTEM_NET_HTTP -out:"$out/main.dll" "$@"
