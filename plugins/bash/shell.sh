# Runs executions one after the other in one shell, which keeps its state.
#
#     bash shell.sh DIRECTORY STATE
#
# A fatal error, such as an unset variable under set -u, ends any shell that is not interactive. The trap EXIT then
# writes the shell's state to the file "kept" and replaces the shell by a fresh one in the same process, which reads it.
#
# It reads requests from the FIFO "requests" in the directory, a JSON object a line, whose
# members have a fixed order. It writes a message "done" for each execution to descriptor 3, and
# a mark to descriptors 1 and 2: output before the mark belongs to that execution. SIGINT
# interrupts the running execution.
#
# The user's code shares this shell and can break all of it. A shell that can no longer serve
# requests ends at once; kernel.sh then tells the host why. Needs Bash 4.4 or later, and base64,
# mkdir and rm, which are looked up before the code can change PATH.

__yurt_dir=$1 __yurt_state=$2
__yurt_id='' __yurt_answer='' __yurt_running='' __yurt_stop='' __yurt_interrupt='' __yurt_parted='' __yurt_code=0 __yurt_count=0
__yurt_cell='' __yurt_file='' __yurt_back='' __yurt_old='' # the cell's name and file, the directories of __yurt_enter
__yurt_begin='__yurt_here && ((1)); '                      # begins a cell; the user's first command finds $? unchanged
__yurt_failure='' __yurt_sources=() __yurt_lines=()        # the last command that failed: its status and its stack
__yurt_literal='"(([^"\\]|\\.)*)"'
__yurt_crash=139 # 128 and SIGSEGV
__yurt_tries=50 # to read a request
# The end of a cell, once code has named the trap ERR: it keeps the cell's last status and makes the command that
# runs the cell succeed, as the user's trap would be called for that command, too.
__yurt_end=$'\n\n{ __yurt_ended=$?; } 2>/dev/null' __yurt_traps='' __yurt_ended='' __yurt_parameters=()
__yurt_errors='' # the trap ERR of code that is left
__yurt_guard='__yurt_ending "$?" "$@"; ' # begins the trap EXIT, before the code's own
__yurt_watch='{ __yurt_failed "$?"; } 2>/dev/null' # the trap ERR, without a trace under xtrace
__yurt_exits='' __yurt_own=''           # whether code has named a trap; the code's own trap EXIT
__yurt_bash=$BASH
hash base64 mkdir rm 2>/dev/null
__yurt_base64=${BASH_CMDS[base64]-base64} __yurt_mkdir=${BASH_CMDS[mkdir]-mkdir} __yurt_rm=${BASH_CMDS[rm]-rm}
shift 2

# __yurt_next reads the next request and sets up its execution.
__yurt_next() {
  local line='' id file tries=0
  while [[ $line ]] || ((tries++ < __yurt_tries)) || __yurt_broken requests; do
    if ! IFS= builtin read -r -u "$__yurt_requests" line; then
      # The host has gone: opening waits for it.
      line=''
      exec {__yurt_requests}<&- {__yurt_requests}<"$__yurt_dir/requests"
      continue
    fi
    id=${line#'{"id":"'}
    id=${id%%'"'*}
    if [[ $id == "$__yurt_id" ]]; then
      __yurt_reply # the host has restarted and lost it
      continue
    fi
    break
  done
  __yurt_id=$id __yurt_answer='' __yurt_count=$((__yurt_count + 1))
  ((__yurt_count % 100)) || "$__yurt_rm" -f "$__yurt_state/cell "*
  __yurt_cell="cell $__yurt_count"
  [[ -d $__yurt_state ]] || "$__yurt_mkdir" -m 700 "$__yurt_state" # the code has emptied /tmp
  if [[ $line == '{"id":"'"$id"'","file":"'* ]]; then
    file=${line#*',"file":"'}
    IFS= builtin read -r line <"${file%%'"'*}"
  fi
  builtin printf '%s %d\n' "$__yurt_id" "$__yurt_count" >|"$__yurt_state/running"
  [[ ! -s $__yurt_state/missing ]] || >|"$__yurt_state/missing"
  __yurt_prepare "$line"
}

# __yurt_prepare reads a request. Its code comes last and can be large.
__yurt_prepare() {
  local rest=${1%%',"code":"'*} code item
  code=${1:${#rest}+9:${#1}-${#rest}-11}
  rest=${rest#'{"id":"'"$__yurt_id"'"'}
  exec 0</dev/null 1>&"$__yurt_out" 2>&"$__yurt_err" || __yurt_broken descriptors
  __yurt_restore=()
  if [[ $rest == ',"cwd":'* ]]; then
    __yurt_string "${rest#',"cwd":'}"
    rest=$__yurt_rest
    builtin cd -- "$__yurt_value" || builtin echo "yurt: the working directory stays $PWD" >&2
  fi
  if [[ $rest == ',"stdin":"'* ]]; then
    rest=${rest#',"stdin":"'}
    exec 0< <(builtin printf %s "${rest%%'"'*}" | "$__yurt_base64" -d)
    rest=${rest#*'"'}
  fi
  if [[ $rest == ',"env":['* ]]; then
    rest=${rest#',"env":['}
    while [[ $rest == '"'* ]]; do
      __yurt_string "$rest"
      rest=${__yurt_rest#,}
      __yurt_export "${__yurt_value%%=*}" "${__yurt_value#*=}"
    done
    rest=${rest#']'}
  fi
  __yurt_decode "$code"
  [[ $__yurt_value == *ERR* ]] && __yurt_traps=1
  [[ $__yurt_value == *trap* ]] && __yurt_exits=1
  builtin printf '%s\n' "$__yurt_begin$__yurt_value${__yurt_traps:+$__yurt_end}" >|"$__yurt_state/$__yurt_cell"
}

# __yurt_string decodes the JSON string at the beginning of the argument.
__yurt_string() {
  [[ $1 =~ ^$__yurt_literal ]]
  __yurt_rest=${1:${#BASH_REMATCH[0]}}
  __yurt_decode "${BASH_REMATCH[1]}"
}

# __yurt_decode replaces the escapes of a JSON string, which are those of $'…'. It drops NULs, as Bash
# does in a script, since a NUL would end the text of a variable.
__yurt_decode() {
  if [[ $1 != *'\u0000'* ]]; then
    __yurt_value=${1@E}
    return
  fi
  # The escapes of printf differ only in quotes. Replacing one after the other would scan the rest of
  # the text each time.
  local pieces
  builtin mapfile -t -d '"' pieces <<<"$1"
  builtin printf -v __yurt_value '%sx22' "${pieces[@]}"
  builtin printf %b "${__yurt_value%$'\nx22'}" >|"$__yurt_state/text"
  builtin mapfile -t -d '' pieces <"$__yurt_state/text"
  builtin printf -v __yurt_value %s "${pieces[@]}"
}

# __yurt_export sets a variable for this execution only.
__yurt_export() {
  if [[ -v $1 ]]; then
    __yurt_restore+=("$(builtin declare -p "$1")")
  else
    __yurt_restore+=("unset -v $1")
  fi
  builtin export "$1=$2"
}

__yurt_reply() {
  [[ $__yurt_answer ]] || return 0
  builtin printf '\x1eyurt:%s\x1e' "$__yurt_id" >&"$__yurt_out"
  builtin printf '\x1eyurt:%s\x1e' "$__yurt_id" >&"$__yurt_err"
  builtin printf '%s\n' "$__yurt_answer" >&"$__yurt_control" || __yurt_broken descriptors
}

# __yurt_broken ends a shell that cannot serve requests; a file's name has the reason. The code may
# have replaced any builtin by a function; in POSIX mode, exit is Bash's own.
__yurt_broken() {
  exec 2>&-
  __yurt_running=''
  >|"$__yurt_state/broken-$1"
  POSIXLY_CORRECT=1
  exit 1
}

# __yurt_sound reports whether the code has left Bash its builtins.
__yurt_sound() {
  local text='' found=''
  builtin source /dev/null && builtin printf -v text %s yes && builtin read -r found <<<"$text" && [[ $found == yes ]]
}

# __yurt_after ends an execution with the status that its code had.
__yurt_after() {
  __yurt_code=$1 __yurt_running=''
  __yurt_sound || __yurt_broken builtins
  builtin set +exv
  local envelope='{"result":null}' speaker='' item
  if [[ $__yurt_stop ]]; then
    __yurt_obey
    __yurt_code=$__yurt_stop
    [[ $__yurt_interrupt ]] && envelope='{"error":{"type":"KeyboardInterrupt","message":"","stacktrace":[]}}'
    __yurt_stop='' __yurt_interrupt='' __yurt_parted=''
  elif (( __yurt_code == 1 || __yurt_code == 2 )); then
    __yurt_syntax
  elif (( __yurt_code == 127 )); then
    __yurt_missing
  fi
  ((__yurt_code)) && [[ $envelope != *error* ]] && __yurt_spoken
  __yurt_last=$__yurt_code
  [[ ! $__yurt_exits ]] || __yurt_protect
  if [[ $__yurt_traps && ! $(builtin trap -p ERR) ]]; then
    __yurt_traps=''
    builtin trap "$__yurt_watch" ERR # the code has removed its trap
  fi
  for item in "${__yurt_restore[@]}"; do
    builtin eval "${item/#declare /declare -g }"
  done
  builtin trap __yurt_interrupted INT
  exec 0</dev/null
  __yurt_answer="{\"id\":\"$__yurt_id\",\"done\":{\"exit_code\":$__yurt_code,\"execution_count\":$__yurt_count,\"exiting\":false,\"speaker\":\"$speaker\",\"envelope\":$envelope}}"
  __yurt_reply
  >|"$__yurt_state/running"
  ((1))
}

# __yurt_enter goes to the directory of the cell's file, so that Bash names the file without a path: in messages, $0 and
# BASH_SOURCE. The cell's first command, __yurt_here, goes back. If Bash cannot parse the first line, its message shows
# that command, so the message goes to a file. If the working directory has no path any more, the name has a path.
__yurt_enter() {
  BASH_ARGV0=$__yurt_cell __yurt_file=$__yurt_state/$__yurt_cell __yurt_back='' __yurt_ended='' __yurt_failure=''
  if [[ ! -o posix && ${PWD-} == /* && . -ef $PWD ]]; then
    __yurt_back=$PWD __yurt_old=${OLDPWD-}
    if { builtin cd -L -- "$__yurt_state"; } 2>/dev/null; then
      __yurt_file=$__yurt_cell
    else
      __yurt_back=''
    fi
  fi
  exec 2>|"$__yurt_state/unparsed"
}

# __yurt_here goes back to the user's directory and returns the status of the previous execution.
__yurt_here() {
  exec 2>&"$__yurt_err"
  __yurt_home
  return "$__yurt_last"
}

__yurt_home() {
  [[ $__yurt_back ]] || return 0
  { builtin cd -L -- "$__yurt_back"; } 2>/dev/null
  __yurt_back=''
  OLDPWD=$__yurt_old
  [[ $__yurt_old ]] || builtin unset -v OLDPWD
}

# __yurt_unparsed writes Bash's message about a cell whose first line it could not parse.
__yurt_unparsed() {
  __yurt_home
  [[ -s $__yurt_state/unparsed ]] || return 0
  local said
  said=$(<"$__yurt_state/unparsed")
  builtin printf '%s\n' "${said/"$__yurt_begin"/}" >&"$__yurt_err"
}

# __yurt_bearable reports whether Bash survives parsing the code: its stack overflows if the nesting
# is too deep. So another Bash parses long code first.
__yurt_bearable() {
  (( ${#__yurt_value} < 2000 )) && return
  "$BASH" -n "$__yurt_state/$__yurt_cell"
  (( $? != __yurt_crash ))
}

# __yurt_syntax makes an error of code that Bash cannot parse.
__yurt_syntax() {
  local said
  [[ -f $__yurt_state/$__yurt_cell ]] || return 0
  said=$("$BASH" -n "$__yurt_state/$__yurt_cell" 2>&1) && return
  (( $? == __yurt_crash )) && said="$__yurt_cell: the code is nested deeper than Bash can parse"
  __yurt_error SyntaxError "${said%%$'\n'*}"
}

# __yurt_quote makes the inside of a JSON string of a text.
__yurt_quote() {
  __yurt_value=${1//'\'/'\\'}
  __yurt_value=${__yurt_value//'"'/'\"'}
  __yurt_value=${__yurt_value//[[:cntrl:]]/ }
}

# __yurt_error makes the envelope of an error of a type from Bash's message.
__yurt_error() {
  local said=${2#"$__yurt_state/"} place='' stack=''
  __yurt_stack
  if [[ $said =~ ^(cell\ [0-9]+):\ line\ ([0-9]+): ]]; then
    place="\"${BASH_REMATCH[1]}:${BASH_REMATCH[2]}\""
  fi
  [[ $stack != *"$place" ]] || place=$stack
  __yurt_quote "$said"
  envelope="{\"error\":{\"type\":\"$1\",\"message\":\"$__yurt_value\",\"stacktrace\":[$place]}}"
}

# __yurt_spoken makes an error whose message the host takes from Bash's last line on standard error.
__yurt_spoken() {
  local stack='' file="${__yurt_file%"$__yurt_cell"}cell "
  __yurt_stack
  [[ ! $stack || ${__yurt_sources[0]} == cell\ * ]] || file="${__yurt_sources[0]}: line "
  __yurt_quote "$file"
  speaker=$__yurt_value
  envelope="{\"error\":{\"type\":\"BashError\",\"message\":\"\",\"stacktrace\":[$stack]}}"
}

# __yurt_stack makes the stack of the command that failed, if its status is the code's. The stack omits functions of a
# shell that has ended, whose lines are lost.
__yurt_stack() {
  local at
  [[ $__yurt_failure == "$__yurt_code" ]] || return 0
  for at in "${!__yurt_sources[@]}"; do
    [[ ${__yurt_sources[at]} != kept ]] || continue
    __yurt_quote "${__yurt_sources[at]#"$__yurt_state/"}:${__yurt_lines[at]}"
    stack="\"$__yurt_value\"${stack:+,}$stack"
  done
}

# __yurt_missing makes an error of a missing command, if the code ended with one.
__yurt_missing() {
  local said
  [[ -s $__yurt_state/missing ]] && IFS= builtin read -r said <"$__yurt_state/missing" && __yurt_error BashError "$said"
}

# Bash calls this, in another process, for a missing command.
command_not_found_handle() {
  { builtin set +x; } 2>/dev/null
  local said="${BASH_SOURCE[1]#"$__yurt_state/"}: line ${BASH_LINENO[0]}: ${1//$'\n'/ }: command not found"
  builtin printf '%s\n' "$said" >&2
  { builtin printf '%s\n' "$said" >|"$__yurt_state/missing"; } 2>/dev/null
  return 127
}

# __yurt_interrupted ends the running code, in any depth of functions.
__yurt_interrupted() {
  [[ $__yurt_running && $BASHPID == $$ ]] || return 0
  __yurt_interrupt=1
  __yurt_leave 130
}

# exit ends the execution, not the shell with its state; in a subshell it is Bash's own.
exit() {
  { local code=$? options=$-; builtin set +x; } 2>/dev/null
  [[ $__yurt_running && $BASHPID == $$ ]] || builtin exit "${@-$code}"
  [[ ${1-} == -- ]] && shift
  if (($# > 1)); then
    builtin echo 'exit: too many arguments' >&2
    [[ $options != *x* ]] || builtin set -x
    return 1
  elif [[ ${1-$code} =~ ^([-+]?)([0-9]{1,18})$ ]]; then
    code=$((${BASH_REMATCH[1]}10#${BASH_REMATCH[2]} & 255))
  else
    builtin echo "exit: $1: numeric argument required" >&2
    code=2
  fi
  __yurt_leave "$code"
}

# __yurt_failed runs after a command has failed. With errexit it ends the code, not the shell
# with its state.
__yurt_failed() {
  [[ $__yurt_running && $BASHPID == $$ ]] || return "$1"
  __yurt_remember "$1"
  [[ $- == *e* ]] || return "$1"
  __yurt_leave "$1"
}

# __yurt_remember keeps the stack of a failed command, without the frames of this file. A function that fails by its last
# command has that command's stack.
__yurt_remember() {
  local depth=$((${#BASH_SOURCE[@]} - 3)) # this function and __yurt_failed at one end, main at the other
  local lines=("${BASH_LINENO[@]:1:depth}")
  ((depth > 0)) || return # the cell as a whole
  [[ $__yurt_failure == "$1" && " ${__yurt_lines[*]}" == *" ${lines[*]}" ]] && return
  __yurt_failure=$1 __yurt_lines=("${lines[@]}") __yurt_sources=("${BASH_SOURCE[@]:2:depth}")
}

# __yurt_leave makes the shell refuse every further command, in each function. A trap of DEBUG
# that returns 2 makes the present function return.
__yurt_leave() {
  __yurt_stop=$1
  builtin set +ex # also of the trace of __yurt_refuse
  [[ $__yurt_errors ]] || __yurt_errors=$(builtin trap -p ERR)
  builtin trap - ERR
  builtin shopt -s extdebug
  builtin set -T
  builtin trap __yurt_refuse DEBUG
}

__yurt_refuse() {
  [[ ${BASH_SOURCE[1]} == "${BASH_SOURCE[0]}" ]] || return 2
}

# __yurt_obey makes the shell run commands again.
__yurt_obey() {
  builtin trap - DEBUG
  builtin shopt -u extdebug
  builtin set +T
  builtin set -E
  builtin eval "$__yurt_errors"
  __yurt_errors=''
}

# __yurt_parting makes the code's trap EXIT the next cell, once, after code has ended the execution.
__yurt_parting() {
  [[ $__yurt_stop && ! $__yurt_interrupt && ! $__yurt_parted ]] || return
  local said words
  said=$(builtin trap -p EXIT)
  builtin eval "words=($said)"
  words=${words[2]-}
  words=${words#"$__yurt_guard"}
  builtin trap "$__yurt_guard" EXIT
  __yurt_own=''
  [[ $words ]] || return
  __yurt_obey
  __yurt_parted=1 __yurt_last=$__yurt_stop
  builtin printf '%s\n' "$__yurt_begin$words" >|"$__yurt_state/$__yurt_cell"
}

# __yurt_protect makes the trap EXIT begin with __yurt_ending, also if the code has set its own.
__yurt_protect() {
  local said words=()
  said=$(builtin trap -p EXIT)
  builtin eval "words=($said)"
  __yurt_own=${words[2]-}
  __yurt_own=${__yurt_own#"$__yurt_guard"}
  builtin trap "$__yurt_guard$__yurt_own" EXIT
}

# __yurt_ending runs when Bash ends the shell with a status. During an execution, a fresh shell takes over the process,
# the state and the positional parameters, which are those from the execution's start if a function has ended the shell.
# Otherwise the shell ends. It has no local variables, as they would be saved.
__yurt_ending() {
  if [[ $__yurt_running && $BASHPID == $$ ]] && __yurt_fatal "$1"; then
    ((${#FUNCNAME[@]} > 3)) || __yurt_parameters=("${@:2}") # this function, source and main
    __yurt_stop=${__yurt_stop:-$1} __yurt_failure=''
    { __yurt_save >|"$__yurt_state/kept"; } 2>/dev/null &&
      builtin exec "$__yurt_bash" --norc --noprofile "$__yurt_dir/shell.sh" "$__yurt_dir" "$__yurt_state"
  fi
  return "$1"
}

# __yurt_fatal distinguishes an error from a signal that ends the shell: Bash runs the trap EXIT for both, and after a
# signal $? is the previous command's. A shell that crashed is in the handler of the signal, which blocks the signal.
__yurt_fatal() {
  [[ $1 != 0 && $BASH_COMMAND != *kill\ * && $(</proc/$$/status) =~ SigBlk:[[:space:]]0{16} ]]
}

# __yurt_save prints commands that restore the shell's state. Functions come before aliases, which are expanded in them
# already, and options come last.
__yurt_save() {
  builtin shopt -p
  builtin declare -f
  builtin declare -F
  builtin declare -p
  builtin alias -p
  builtin printf 'set --'
  ((${#__yurt_parameters[@]} == 0)) || builtin printf ' %q' "${__yurt_parameters[@]}"
  builtin printf '\n'
  builtin trap -p
  builtin printf 'trap -- %q EXIT\n' "$__yurt_guard$__yurt_own"
  __yurt_directories
  builtin set +o
}

# __yurt_directories prints commands that restore the directory stack.
__yurt_directories() {
  builtin printf 'builtin cd -- %q\n' "$PWD"
  for ((__yurt_code = ${#DIRSTACK[@]} - 1; __yurt_code > 0; __yurt_code--)); do
    builtin printf 'builtin pushd -n -- %q >/dev/null\n' "${DIRSTACK[__yurt_code]}"
  done
}

builtin readonly -f __yurt_next __yurt_prepare __yurt_string __yurt_decode __yurt_export __yurt_reply __yurt_broken __yurt_sound \
  __yurt_after __yurt_enter __yurt_here __yurt_home __yurt_unparsed __yurt_bearable __yurt_syntax __yurt_quote __yurt_error __yurt_spoken __yurt_stack __yurt_missing \
  __yurt_interrupted __yurt_failed __yurt_remember __yurt_leave __yurt_refuse __yurt_obey __yurt_parting __yurt_protect __yurt_ending __yurt_fatal __yurt_save \
  __yurt_directories
if [[ -s $__yurt_state/kept ]]; then
  builtin cd -L -- "$__yurt_state" # so that messages name the file without a path
  { builtin source kept; } >/dev/null 2>&1
  builtin set +e
  >|"$__yurt_state/kept"
  { __yurt_parting; } 2>/dev/null || >|"$__yurt_state/$__yurt_cell"
  __yurt_resumed=1
else
  exec {__yurt_out}>&1 {__yurt_err}>&2 {__yurt_control}>&3 3>&- {__yurt_requests}<"$__yurt_dir/requests"
  __yurt_last=0
  builtin set -E
  builtin trap __yurt_interrupted INT
  builtin trap "$__yurt_watch" ERR
  builtin trap "$__yurt_guard" EXIT
  __yurt_resumed=''
  builtin readonly __yurt_dir __yurt_state __yurt_literal __yurt_crash __yurt_tries __yurt_begin __yurt_end __yurt_guard __yurt_watch \
    __yurt_bash __yurt_base64 __yurt_mkdir __yurt_rm __yurt_out __yurt_err __yurt_control
fi
# The condition is always false, except in a shell that no longer runs commands (set -n): there all
# commands count as successful, and the shell reaches the end of this file.
until ((0)); do
  [[ $__yurt_resumed ]] || __yurt_next
  __yurt_resumed=''
  if { __yurt_bearable; } 2>/dev/null; then
    __yurt_running=1 __yurt_parameters=("$@")
    until ((0)); do
      for __yurt_code in 0; do # the loop for a break or continue outside the code's loops
        __yurt_enter
        builtin source "$__yurt_file"
        { __yurt_code=${__yurt_ended:-$?}; } 2>/dev/null # no trace of it under xtrace
      done
      { __yurt_unparsed; __yurt_parting || break; } 2>/dev/null
    done
    { __yurt_after "$__yurt_code"; } 2>/dev/null || __yurt_broken descriptors
  else
    __yurt_after 2
  fi
done
__yurt_broken loop
