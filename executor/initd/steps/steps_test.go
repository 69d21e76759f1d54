package steps

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planEnv makes the test binary carry out the plan at that path.
const planEnv = "YURT_TEST_STEPS"

func TestMain(m *testing.M) {
	if path := os.Getenv(planEnv); path != "" {
		os.Exit(Run(path))
	}
	os.Exit(m.Run())
}

// carryOut runs the plan in a process of its own and returns its exit code, its stdout and stderr, and the data from
// descriptor 3.
func carryOut(t *testing.T, plan Plan) (code int, stdout, stderr string, told []byte) {
	t.Helper()
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out, errs bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{planEnv + "=" + path, "PATH=/usr/bin:/bin", "OF=run"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input"), &out, &errs
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	told, err = io.ReadAll(r)
	var exit *exec.ExitError
	if waitErr := cmd.Wait(); err != nil || waitErr != nil && !errors.As(waitErr, &exit) {
		t.Fatal(err, waitErr)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String(), told
}

func shell(line string) Step {
	return Step{Argv: []string{"sh", "-c", line}, Env: []string{"PATH=/usr/bin:/bin", "OF=step"}}
}

func TestRunAllSteps(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	code, stdout, stderr, told := carryOut(t, Plan{
		Dirs: []string{dir},
		Compile: []Step{
			shell("echo compiling; cat; echo $OF >&2; ls /proc/self/fd/3 >/dev/null 2>&1 || echo no descriptor"),
			shell("test -d " + dir + " && echo second"),
		},
		Argv: []string{"sh", "-c", "cat; echo $OF; echo result >&3; exit 5"}, Control: true,
	})
	if code != 5 || stdout != "inputrun\n" || string(told) != "result\n" {
		t.Errorf("exit %d, stdout %q, told %q", code, stdout, told)
	}
	if want := "compiling\nstep\nno descriptor\nsecond\n"; stderr != want {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
}

func TestRunWithoutResult(t *testing.T) {
	t.Parallel()
	code, _, _, told := carryOut(t, Plan{Compile: []Step{shell("true")}, Argv: []string{"sh", "-c", "echo forged >&3 || exit 9"}})
	if code == 0 || len(told) != 0 {
		t.Errorf("exit %d, told %q", code, told)
	}
}

func TestRunFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		plan Plan
		code int
		want Report
	}{
		{"a step", Plan{Compile: []Step{shell("true"), shell("echo out; echo err >&2; exit 3")}}, 3, Report{Step: 1, ExitCode: 3, Output: []byte("out\nerr\n")}},
		{"a step by a signal", Plan{Compile: []Step{shell("kill -TERM $$")}}, 143, Report{ExitCode: -1, Signal: 15}},
		{"a step in time", Plan{Compile: []Step{{Argv: []string{"sleep", "1000"}, Timeout: 50 * time.Millisecond}}}, 137, Report{ExitCode: -1, Signal: 9, TimedOut: true}},
		{"a step that is not there", Plan{Compile: []Step{{Argv: []string{"no-such-compiler"}}}}, 127, Report{ExitCode: 127, Missing: "no-such-compiler"}},
		{"the program is not there", Plan{Argv: []string{"/no/such/program"}}, 127, Report{ExitCode: 127, Missing: "/no/such/program"}},
		{"much output", Plan{Compile: []Step{shell("head -c 1000000 /dev/zero; exit 1")}}, 1, Report{ExitCode: 1, Output: make([]byte, MaxOutput)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.plan.Argv == nil {
				tt.plan.Argv = []string{"false"}
			}
			code, _, _, told := carryOut(t, tt.plan)
			got, err := DecodeReport(told, len(tt.plan.Compile))
			if err != nil || got == nil {
				t.Fatalf("told %.200q: %v", told, err)
			}
			if !strings.Contains(got.Missing, tt.want.Missing) {
				t.Errorf("missing %q, want %q", got.Missing, tt.want.Missing)
			}
			got.Missing = tt.want.Missing
			if code != tt.code || got.Step != tt.want.Step || got.ExitCode != tt.want.ExitCode || got.Signal != tt.want.Signal ||
				got.TimedOut != tt.want.TimedOut || !bytes.Equal(got.Output, tt.want.Output) {
				t.Errorf("exit %d, %+v; want %d, %+v", code, *got, tt.code, tt.want)
			}
		})
	}
}

// TestRunLeavesNobodyWaiting has a step leave a process behind that holds its output.
func TestRunLeavesNobodyWaiting(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	step := shell("sleep 1000 & echo $! >" + pidFile + "; echo done")
	code, stdout, _, _ := carryOut(t, Plan{Compile: []Step{step}, Argv: []string{"sh", "-c", "kill $(cat " + pidFile + ") && echo killed"}})
	if code != 0 || stdout != "killed\n" {
		t.Errorf("exit %d, stdout %q", code, stdout)
	}
}

// FuzzDecodeReport reads anything that a sandbox can send.
func FuzzDecodeReport(f *testing.F) {
	for _, seed := range []string{
		``, `{"result":1}`, `{"failed_step":`, `{"failed_step":{"step":0,"exit_code":1,"output":"aGk="}}`,
		`{"failed_step":null}`, `{"failed_step":{"step":-1}}`, `{"failed_step":{"exit_code":999999}}`, `{"failed_step":{"more":1}}`,
	} {
		f.Add([]byte(seed), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, steps int) {
		report, err := DecodeReport(data, steps)
		if report == nil || err != nil {
			return
		}
		if report.Step < 0 || report.Step > steps || len(report.Output) > MaxOutput || report.Signal < 0 || report.Signal > 64 {
			t.Errorf("%+v of %d steps", report, steps)
		}
		encoded, err := report.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeReport(encoded, steps); err != nil || again.ExitCode != report.ExitCode || !bytes.Equal(again.Output, report.Output) {
			t.Errorf("%+v became %+v: %v", report, again, err)
		}
	})
}
