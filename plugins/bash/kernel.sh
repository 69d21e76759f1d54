# Starts the shell that keeps a context's state, and tells the host when the shell ends:
#
#     bash kernel.sh DIRECTORY
#
# The shell runs shell.sh. User code can set its traps and replace it by exec.

dir=$1
state=$(mktemp -d "${TMPDIR:-/tmp}/.yurt-bash-XXXXXX") || exit 1
trap : INT # for the shell, which is in the same process group
exec {err}>&2 2>"$state/said" # Bash's message of a signal is not the user's output
"$BASH" --norc --noprofile "$dir/shell.sh" "$dir" "$state" 2>&"$err" {err}>&-
code=$?
id='' why='' count=0
[[ -s $state/running ]] && read -r id count <"$state/running"
for file in "$state"/broken-*; do
  case ${file##*/broken-} in
  builtins) why='a function has the name of a builtin that the shell needs, or that builtin is disabled' ;;
  descriptors) why='the descriptors that the shell answers on are closed' ;;
  requests) why='no request can be read any more' ;;
  loop) why='the loop that runs one execution after the other was left' ;;
  esac
done
noexec='(^|[^[:alnum:]_])(set|shopt)[[:space:]]([^;&|]*[[:space:]])?(-[[:alpha:]]*n|noexec|extdebug)'
[[ $code == 0 && -f $state/cell\ $count && $(<"$state/cell $count") =~ $noexec ]] && why='set -n, or a trap of DEBUG under extdebug, has it skip all commands'
rm -rf "$state"
# Bash reports a shell that a signal has ended, and not one that exits with such a code. This process
# ends by the same signal, so that the host reports it, too.
((code > 128)) && [[ -s /proc/self/fd/2 ]] && kill -"$((code - 128))" $$
[[ $why && ! $id ]] && echo "yurt: the code before this broke the shell of its context: $why" >&"$err"
if [[ $id ]]; then
  printf '\x1eyurt:%s\x1e' "$id"
  printf '\x1eyurt:%s\x1e' "$id" >&"$err"
  printf '{"id":"%s","done":{"exit_code":%d,"execution_count":%d,"exiting":true,"broken":"%s","envelope":{"result":null}}}\n' "$id" "$code" "$count" "$why" >&3
fi
exit "$code"
