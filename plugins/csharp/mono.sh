# Compiles C# with Mono, with a reference to the assembly of HTTP clients if that is installed, and prints the
# hints after compile errors: mono.sh MCS FLAG-OR-SOURCE…
for lib in /usr/lib/mono/4.5 /usr/local/lib/mono/4.5; do
	[ -e "$lib/System.Net.Http.dll" ] && set -- "$@" -r:System.Net.Http && break
done
[ -e "$lib/System.Net.Http.dll" ] && set -- "$@" -define:SYSTEM_NET_HTTP
"$@" -define:YURT_MONO && exit 0
code=$?
printf %s "$YURT_HINTS" >&2
exit $code
