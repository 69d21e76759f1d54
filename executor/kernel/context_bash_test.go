package kernel_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func bash(s *yurt.ExecutionSpec) { s.Language = "bash" }

func TestBashCells(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run("x=42; declare -A names=([a]=1)\nf() { echo \"f $1 $x\"; }\nmkdir sub; cd sub", bash)
	n.want("f a \"b\"\\ü\t 42\n1 sub\n", "f 'a \"b\"\\ü\t'; echo ${names[a]} ${PWD##*/}", bash)
	n.want("long 42\n", "# "+strings.Repeat("x", 10_000)+"\necho long $x", bash)
	n.want("one\ntwo\nend\n", "cat; echo end", bash, func(s *yurt.ExecutionSpec) { s.Stdin = []byte("one\ntwo\n") })
	n.want("end\n", "cat; echo end", bash)
	n.want("\"1\"=\\x 4\n", "echo \"$V\" 4", bash, func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"V": `"1"=\x`} })
	n.want("none\n", "echo ${V-none}", bash)
	n.want("none\n", "echo ${x-none}", bash, testutil.InContext("other"))
	n.want("", "exec >/dev/null 2>&1; echo gone", bash)
	n.want("back\n", "echo back", bash)
	n.run("x=43; unset PATH; /usr/bin/find /tmp -mindepth 1 -delete; false", bash)
	n.want("one\n", "read line; echo $line", bash, func(s *yurt.ExecutionSpec) { s.Stdin = []byte("one\n") })
	n.want("43\n", "echo $x", bash)
}

// TestBashLargeCells: code of the largest size runs, of any characters: for each replacement in a text, Bash scans all
// of the rest once.
func TestBashLargeCells(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	const line = "\"grüße\"\t'\\\\' \u2028 \x01\x7f\n"
	lines := (yurt.MaxCodeBytes - 100) / len(line)
	text := strings.Repeat(line, lines)
	n.want(fmt.Sprintf("%d\n%x  -\n", lines, sha256.Sum256([]byte(text))), "cat >/tmp/text <<'END'\n"+text+"END\nwc -l </tmp/text\nsha256sum </tmp/text", bash)
	n.want(fmt.Sprintf("nul\n%d\n", lines), "echo n\x00ul\nwc -l <<'END'\n"+text+"END\n", bash)
	n.want("ü 1\n", "echo $V ${W-1}\n: <<'END'\n"+text, bash, func(s *yurt.ExecutionSpec) {
		s.Env, s.Cwd = map[string]string{"V": "ü"}, yurt.WorkspaceDir
	})
}

func TestBashCellsFail(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run("x=42", bash)
	for _, failure := range []struct {
		code, stdout string
		exitCode     int
	}{
		{"echo a; false", "a\n", 1},
		{"(exit 5)", "", 5},
		{"nosuchcommand 2>&1 | grep -q cell; false", "", 1},
		{"set -e; echo a; false; echo b", "a\n", 1},
		{"set -euo pipefail\ng() { (exit 3) | cat; echo g; }\nh() { g; echo h; }\nh; echo b", "", 3},
		{"false\necho a; return 4", "a\n", 4}, // errexit does not last
	} {
		r := n.run(failure.code, bash)
		if r.ExitCode != failure.exitCode || r.Stdout != failure.stdout || r.Error != nil || r.StateLost {
			t.Errorf("%s: exit code %d, stdout %q, error %+v, state lost %t, stderr %q", failure.code, r.ExitCode, r.Stdout, r.Error, r.StateLost, r.Stderr)
		}
	}
	r := n.run("echo a; nosuchcommand", bash)
	testutil.WantErrorType(t, r, "BashError")
	if r.ExitCode != 127 || r.Stdout != "a\n" || r.StateLost || !strings.Contains(r.Error.Message, "line 1: nosuchcommand: command not found") {
		t.Errorf("a command that is not there: exit code %d, stdout %q, error %+v, state lost %t", r.ExitCode, r.Stdout, r.Error, r.StateLost)
	}
	r = n.run("echo a\nif )", bash)
	testutil.WantErrorType(t, r, yurt.ErrorTypeSyntax)
	if !strings.Contains(r.Error.Message, "line 2") || r.StateLost {
		t.Errorf("syntax error %+v, state lost %t", r.Error, r.StateLost)
	}
	n.want("42\n", "echo $x", bash)
	for code, signaled := range map[string]bool{
		"kill -SEGV $BASHPID": true, "trap - EXIT; builtin exit 139": false,
		"exec 2>/dev/null; bash -c 'kill -SEGV $$'; trap - EXIT; builtin exit 139": false,
	} {
		n.run("x=42", bash)
		r := n.run(code, bash)
		if died := r.Error != nil && r.Error.Type == yurt.ErrorTypeKernelDied; died != signaled || r.ExitCode != 139 || !r.StateLost {
			t.Errorf("%s: exit code %d, error %+v, state lost %t", code, r.ExitCode, r.Error, r.StateLost)
		}
	}
	for _, end := range []string{"trap 'echo bye' EXIT; builtin exit 3", "exec sh -c 'echo bye; exit 3'"} {
		n.run("x=42", bash)
		if r := n.run(end, bash); r.ExitCode != 3 || r.Stdout != "bye\n" || r.Error != nil || !r.StateLost {
			t.Errorf("%s: exit code %d, stdout %q, error %+v, state lost %t", end, r.ExitCode, r.Stdout, r.Error, r.StateLost)
		}
		if r := n.want("none\n", "echo ${x-none}", bash); !r.KernelRestarted {
			t.Errorf("after %s: the next execution is not told of the fresh shell", end)
		}
	}
	r = n.run("kill -KILL $BASHPID", bash)
	testutil.WantErrorType(t, r, yurt.ErrorTypeKernelDied)
}

// TestBashExitKeepsState: exit ends the execution wherever it stands, as it ends a script, and keeps the shell.
func TestBashExitKeepsState(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run("x=42; g() { echo g $x; }; mkdir sub; cd sub; sleep 1000 & job=$!; exec {fd}>/tmp/open", bash)
	for _, end := range []struct {
		code, stdout, stderr string
		exitCode             int
	}{
		{code: "echo a; exit; echo no", stdout: "a\n"},
		{code: "false; exit", exitCode: 1},
		{code: "exit 3 || echo no", exitCode: 3},
		{code: "exit 130", exitCode: 130},
		{code: "exit 257; echo no", exitCode: 1},
		{code: "exit -- -1", exitCode: 255},
		{code: "exit 010", exitCode: 10},
		{code: "exit 1 2 || echo stays", stdout: "stays\n", stderr: "exit: too many arguments\n"},
		{code: "exit no", exitCode: 2, stderr: "exit: no: numeric argument required\n"},
		{code: "h() { while :; do (exit 4); exit $?; done; echo no; }; if h; then echo no; fi; echo no", exitCode: 4},
		{code: "echo 'exit 5; echo no' >lib.sh; . ./lib.sh; echo no", exitCode: 5},
		{code: "eval 'exit 6; echo no'; echo no", exitCode: 6},
		{code: "set -eu; test -d /nowhere || exit 7; echo no", exitCode: 7},
		{code: "trap 'echo \"bye $?\"; (exit 1)' EXIT; h() { exit 3; echo no; }; h", stdout: "bye 3\n", exitCode: 3},
		{code: "exit 3", exitCode: 3},
		{code: "trap 'echo bye; exit 5; echo no' EXIT; exit 3", stdout: "bye\n", exitCode: 5},
		{code: "trap 'echo bye $?' EXIT; set -e; (exit 6); echo no", stdout: "bye 6\n", exitCode: 6},
		{code: "trap 'echo once; trap \"echo again\" EXIT' EXIT; exit", stdout: "once\n"},
		{code: "trap - EXIT; exit 0"},
		{code: "(exit 9); echo $?; echo a | { cat; exit 9; }; echo b $(exit 9)", stdout: "9\na\nb\n"},
		{code: "trap 'echo line' ERR; exit 8; echo no", exitCode: 8},
	} {
		r := n.run(end.code, bash)
		if r.ExitCode != end.exitCode || r.Stdout != end.stdout || r.Stderr != end.stderr || r.Error != nil || r.StateLost {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, error %+v, state lost %t", end.code, r.ExitCode, r.Stdout, r.Stderr, r.Error, r.StateLost)
		}
		n.want("g 42\nsub\nruns\n", "g; echo ${PWD##*/}; kill -0 $job && : >&$fd && echo runs", bash)
	}
}

// TestBashFatalErrorKeepsState: an error that ends any shell that is not interactive ends the execution, with the words
// and the exit code of Bash, and a fresh shell has the state of the one that ended.
func TestBashFatalErrorKeepsState(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run(`x=$'4\n2 "q"'; declare -A names=([a]=1); declare -r fixed=5; declare -ax list=(a "b c"); declare -n ref=x; export OUT=sent
g() { local v=${1@Q}; cat <<END
g $v $x
END
}
shopt -s extglob expand_aliases; alias g2='g two'; set -o pipefail; set -- p "q r"
mkdir sub; cd sub; pushd /tmp >/dev/null; umask 027; exec {fd}>/tmp/open
trap 'echo usr' USR1; h() { [[ $1 == @(a|b) ]]; }; cd() { builtin cd "$@" && echo moved; }`, bash)
	for _, end := range []struct {
		code, stdout, stderr string
		exitCode             int
	}{
		{"echo a\nset -u; echo $nowhere\necho no", "a\n", "cell N: line 2: nowhere: unbound variable\n", 1},
		{"f() { local x=inner; echo ${1:?is missing}; echo no; }; if f; then echo no; fi; echo no", "", "cell N: line 1: 1: is missing\n", 1},
		{"set -u; echo $((nowhere + 1)); echo no", "", "cell N: line 1: nowhere: unbound variable\n", 1},
		{"exec nosuch; echo no", "", "cell N: line 1: exec: nosuch: not found\n", 127},
		{"set -e; trap 'echo failed' ERR; f() { (exit 6); echo no; }; f; echo no", "failed\n", "", 6},
		{"builtin exit 7", "", "", 7},
		{"eval 'eval \"echo \\${nowhere:?}\"; echo no'; echo no", "", "cell N: line 1: nowhere: parameter null or not set\n", 1},
	} {
		r := n.run(end.code, bash, func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"V": "once"} })
		if r.ExitCode != end.exitCode || r.Stdout != end.stdout || r.Stderr != named(end.stderr, r) || r.StateLost {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, state lost %t", end.code, r.ExitCode, r.Stdout, r.Stderr, r.StateLost)
		}
		wantBashError(t, r, strings.TrimSuffix(end.stderr, "\n"))
		n.run("set +u; trap - ERR; kill -USR1 $$", bash)
		n.want("1 5 b c sent p q r 2 none\n4\n2 \"q\"\n", `echo ${names[a]} $fixed ${list[1]} $(bash -c 'echo $OUT') $* $# ${V-none}; echo "$ref"`, bash)
		n.want("g 'two' 4\n2 \"q\"\n/tmp sub 0027 opened\n", `g2; set -o | grep -q 'pipefail.*on' && h a && : >&$fd && echo $PWD ${DIRSTACK[1]##*/} $(umask) opened`, bash)
	}
	if r := n.run("fixed=6", bash); r.ExitCode != 1 {
		t.Errorf("a read-only variable was set: exit code %d, stderr %q", r.ExitCode, r.Stderr)
	}
}

// named replaces "cell N" in a text of Bash by the name of the result's cell.
func named(text string, r *yurt.Result) string {
	return strings.ReplaceAll(text, "cell N", fmt.Sprintf("cell %d", r.ExecutionCount))
}

// wantBashError fails unless the error has that message, or is absent where that is empty.
func wantBashError(t *testing.T, r *yurt.Result, message string) {
	t.Helper()
	message = named(message, r)
	if message == "" && r.Error != nil || message != "" && (r.Error == nil || r.Error.Type != "BashError" || r.Error.Message != message) {
		t.Errorf("the error is %+v, want one of Bash: %q (stderr %q)", r.Error, message, r.Stderr)
	}
}

// TestBashFatalErrorRunsTheExitTrap: the code's trap of EXIT runs once, with the state that the code had.
func TestBashFatalErrorRunsTheExitTrap(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run("x=42; trap 'echo bye $x $?' EXIT", bash)
	if r := n.run("set -u; echo $nowhere", bash); r.ExitCode != 1 || r.Stdout != "bye 42 1\n" || r.StateLost {
		t.Errorf("exit code %d, stdout %q, stderr %q, state lost %t", r.ExitCode, r.Stdout, r.Stderr, r.StateLost)
	}
	r := n.run("echo $nowhere", bash)
	if r.ExitCode != 1 || r.Stdout != "" || r.StateLost {
		t.Errorf("again: exit code %d, stdout %q, stderr %q, state lost %t", r.ExitCode, r.Stdout, r.Stderr, r.StateLost)
	}
	wantBashError(t, r, "cell N: line 1: nowhere: unbound variable")
	n.run("set -- s 't u'; f() { echo ${nowhere:?}; }; f x", bash)
	n.want("s t u 2\n", "echo $* $#", bash)
	n.run("set -- v; f() { exec nosuch; }; f x", bash)
	n.want("s t u 2\n", "echo $* $#", bash)
	wantBashError(t, n.run("echo ${!bad!}; echo no", bash), "cell N: line 1: ${!bad!}: bad substitution")
	wantBashError(t, n.run("cd /nowhere || exit 4", bash), "cell N: line 1: cd: /nowhere: No such file or directory")
	wantBashError(t, n.run("cd /nowhere; false; echo 'no file' >&2; false", bash), "")
	wantBashError(t, n.run("false", bash), "")
	wantBashError(t, n.run("exec 2>/dev/null; echo $nowhere", bash), "")
	wantBashError(t, n.run("echo 'main: line 1: printed' >&2; builtin exit 3", bash), "")
	n.want("42\n", "echo $x", bash)
}

// TestBashKeepsTheStatus: the first command of a cell finds the status of the last cell in $?.
func TestBashKeepsTheStatus(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run("(exit 7)", bash)
	n.want("7\n", "echo $?", bash)
	n.want("0\n", "echo $?", bash)
}

// TestBashErrorTrapIsTakenBack: once code has removed its trap of ERR, a command that fails under errexit ends no shell.
func TestBashErrorTrapIsTakenBack(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run("x=42; trap 'echo line' ERR", bash)
	n.run("trap - ERR", bash)
	if r := n.run("set -e; (exit 6); echo no", bash); r.ExitCode != 6 || r.Stdout != "" || r.StateLost {
		t.Errorf("exit code %d, stdout %q, state lost %t, want 6 and the state kept", r.ExitCode, r.Stdout, r.StateLost)
	}
	n.want("42\n", "echo $x", bash)
}

// TestBashIsInterrupted interrupts code wherever it is.
func TestBashIsInterrupted(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run("x=42", bash)
	for _, code := range []string{
		"while :; do :; done",
		"f() { while :; do :; done; echo no; }; f; echo no",
		"sleep 1000; sleep 1000; echo no",
		"f() { for i in 1 2; do sleep 1000; done; }; f; sleep 1000; echo no",
	} {
		spec := testutil.Cell("touch /tmp/begun; "+code, bash)
		if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
			t.Fatal(err)
		}
		testutil.Run(t, n.e, n.sandbox, "until test -e /tmp/begun; do sleep 0.01; done; rm /tmp/begun")
		if err := n.e.SignalExecution(t.Context(), n.sandbox, spec.ID, yurt.Signal(syscall.SIGINT)); err != nil {
			t.Fatal(err)
		}
		r, err := n.e.WaitExecution(t.Context(), n.sandbox, spec.ID)
		if err != nil {
			t.Fatal(err)
		}
		testutil.WantErrorType(t, r, yurt.ErrorTypeInterrupted)
		if r.ExitCode != 130 || r.StateLost || r.Stdout != "" {
			t.Errorf("%s: exit code %d, state lost %t, stdout %q", code, r.ExitCode, r.StateLost, r.Stdout)
		}
		n.want("42\n", "echo $x", bash)
	}
	r := n.run("while :; do sleep 0.01; done", bash, testutil.Timeout(time.Second))
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	n.want("42\n", "echo $x", bash)
}

// TestBashErrorsHaveAStack: an error of Bash names the lines that led to it, outermost first, and so does the message.
func TestBashErrorsHaveAStack(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.run("f() {\n\n  cat </nowhere\n}\ng() {\n  f\n}\necho 'cat </nowhere' >lib.sh", bash)
	for _, failure := range []struct {
		code, message string
		stack         []string
	}{
		{"cat </nowhere", "cell N: line 1: /nowhere: No such file or directory", []string{"cell N:1"}},
		{"echo a\n\ng", "cell 1: line 3: /nowhere: No such file or directory", []string{"cell N:3", "cell 1:6", "cell 1:3"}},
		{"set -e\ng\necho no", "cell 1: line 3: /nowhere: No such file or directory", []string{"cell N:2", "cell 1:6", "cell 1:3"}},
		{"echo a\n. ./lib.sh", "./lib.sh: line 1: /nowhere: No such file or directory", []string{"cell N:2", "./lib.sh:1"}},
		{"(exit 4)\nf || exit 4", "cell 1: line 3: /nowhere: No such file or directory", []string{"cell 1:3"}},
		{"set -u\necho $nowhere", "cell N: line 2: nowhere: unbound variable", []string{"cell N:2"}},
		{"h() { nosuchcommand; }\nh", "cell N: line 1: nosuchcommand: command not found", []string{"cell N:2", "cell N:1"}},
	} {
		r := n.run(failure.code, bash)
		wantBashError(t, r, failure.message)
		var stack []string
		for _, place := range failure.stack {
			stack = append(stack, named(place, r))
		}
		if r.Error == nil || !slices.Equal(r.Error.Stacktrace, stack) {
			t.Errorf("%s: the error is %+v, want the stack %q", failure.code, r.Error, stack)
		}
	}
}

// TestBashCellsHaveNames: $0 and BASH_SOURCE name the cell, so that a script's usual tests and directories work.
func TestBashCellsHaveNames(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	n.want("cell 1 cell 1 1\n", "echo $0 ${BASH_SOURCE[0]} $LINENO", bash)
	n.want("main\n", "[[ ${BASH_SOURCE[0]} == \"$0\" ]] && echo main", bash)
	n.want("/tmp\n", "cd /tmp; cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd", bash)
	n.want("/workspace\n", "cd /workspace; cd - >/dev/null; cd -", bash)
	n.want("/tmp/gone\n", "mkdir /tmp/gone; cd /tmp/gone; rmdir /tmp/gone; pwd", bash)
	n.want("/tmp/gone\n", "pwd; cd /workspace", bash)
	r := n.run("cd /workspace\nif )", bash)
	if want := "cell 7: line 2: syntax error near unexpected token `)'\ncell 7: line 2: `if )'\n"; r.Stderr != want {
		t.Errorf("a syntax error in the second line is %q, want %q", r.Stderr, want)
	}
	r = n.run("if )", bash)
	if want := "cell 8: line 1: syntax error near unexpected token `)'\ncell 8: line 1: `if )'\n"; r.Stderr != want {
		t.Errorf("a syntax error in the first line is %q, want %q", r.Stderr, want)
	}
	n.want("/workspace\n", "pwd", bash)
	n.want("posix /workspace\n", "set -o posix; echo posix $PWD", bash)
	n.want("again\n", "echo again", bash)
}

// TestBashTracesOnlyTheCode: under xtrace, standard error has the user's commands alone, without the shell's own.
func TestBashTracesOnlyTheCode(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("bash"))
	for code, want := range map[string]string{
		"set -x; echo a":            "++ echo a\n",
		"set -x; (exit 3)":          "++ exit 3\n",
		"set -x; exit 3":            "++ exit 3\n",
		"set -ex; false; echo no":   "++ false\n",
		"set -x; nosuch":            "++ nosuch\ncell N: line 1: nosuch: command not found\n",
		"set -x; exit 1 2; echo on": "++ exit 1 2\nexit: too many arguments\n++ return 1\n++ echo on\n",
	} {
		if r := n.run(code, bash); r.Stderr != named(want, r) {
			t.Errorf("%s: stderr %q, want %q", code, r.Stderr, want)
		}
	}
}
