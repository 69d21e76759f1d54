# Starts the virtual machine that keeps a context's state, and tells the host when user code ends it:
#
#     sh kernel.sh JAVA ARGUMENT…
#
# A program in the virtual machine cannot read the code of System.exit. It writes the id and the number of
# the execution to descriptor 4, and this shell adds the exit code.
trap : INT # for the virtual machine, which is in the same process group
exec 5>&1
said=$(exec "$@" 4>&1 >&5 5>&-)
code=$?
id=${said% *}
if [ -n "$id" ]; then
	printf '\036yurt:%s\036' "$id"
	printf '\036yurt:%s\036' "$id" >&2
	printf '{"id":"%s","done":{"exit_code":%d,"execution_count":%d,"exiting":true,"envelope":{"result":null}}}\n' "$id" "$code" "${said#* }" >&3
fi
exit "$code"
