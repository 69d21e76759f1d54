# Watches over the shell that keeps a context's state, and tells the host when it ends:
#
#     bash kernel.sh DIRECTORY
#
# The shell itself is shell.sh; what users set as its traps, and exec, are theirs.

dir=$1
state=$(mktemp -d "${TMPDIR:-/tmp}/.yurt-bash-XXXXXX") || exit 1
trap : INT # for the shell, which is in the same process group
exec {err}>&2 2>"$state/said" # what Bash says of a signal is not the user's
"$BASH" --norc --noprofile "$dir/shell.sh" "$dir" "$state" 2>&"$err" {err}>&-
code=$?
id=
[[ -s $state/running ]] && id=$(<"$state/running")
rm -rf "$state"
# Of a shell that crashed, or was killed, Bash says so, and not of one that exits with such a code. The
# host tells it of a kernel that ended likewise.
((code > 128)) && [[ -s /proc/self/fd/2 ]] && kill -"$((code - 128))" $$
if [[ $id ]]; then
  printf '\x1eyurt:%s\x1e' "$id"
  printf '\x1eyurt:%s\x1e' "$id" >&"$err"
  printf '{"id":"%s","done":{"exit_code":%d,"exiting":true,"envelope":{"result":null}}}\n' "$id" "$code" >&3
fi
exit "$code"
