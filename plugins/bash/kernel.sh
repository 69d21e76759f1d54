# Watches over the shell that keeps a context's state, and tells the host when it ends:
#
#     bash kernel.sh DIRECTORY
#
# The shell itself is shell.sh; what users set as its traps, and exec, are theirs.

dir=$1
state=$(mktemp -d "${TMPDIR:-/tmp}/.yurt-bash-XXXXXX") || exit 1
trap : INT # for the shell, which is in the same process group
"$BASH" --norc --noprofile "$dir/shell.sh" "$dir" "$state"
code=$?
id=
[[ -s $state/running ]] && id=$(<"$state/running")
rm -rf "$state"
(( code == 137 )) && kill -KILL $$ # the host knows why
if [[ $id ]]; then
  printf '\x1eyurt:%s\x1e' "$id"
  printf '\x1eyurt:%s\x1e' "$id" >&2
  printf '{"id":"%s","done":{"exit_code":%d,"exiting":true,"envelope":{"result":null}}}\n' "$id" "$code" >&3
fi
exit "$code"
