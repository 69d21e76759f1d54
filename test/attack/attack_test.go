package attack

import (
	"context"
	_ "embed"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

//go:embed prelude.py
var prelude string

// attack is a program, and why it must fail.
type attack struct {
	name  string
	fails string
	layer layer
	// program is Python that follows the prelude: it says got(...) of each thing that
	// it got and should not have.
	program string
	sandbox func(*yurt.SandboxSpec)
	run     func(*yurt.ExecutionSpec)
	// check judges the outcome; nil means that the attack must have come to its end without any
	// gain.
	check func(*testing.T, *yurt.Result)
}

// arena is a node with a sandbox that has no part in the attacks.
type arena struct {
	*executor.Executor

	bystander string
}

func newArena(t *testing.T) *arena {
	t.Helper()
	return arenaOf(t, testutil.Executor(t))
}

func arenaOf(t *testing.T, e *executor.Executor) *arena {
	t.Helper()
	a := &arena{Executor: e}
	a.bystander = a.create(t, func(*yurt.SandboxSpec) {})
	return a
}

// create makes a sandbox, small enough for attacks on its limits to be quick.
func (a *arena) create(t *testing.T, change func(*yurt.SandboxSpec)) string {
	t.Helper()
	spec := testutil.Spec()
	spec.Resources = yurt.Resources{CPU: 1, Memory: 128 << 20, Disk: 32 << 20, PIDs: 64}
	spec.Template.Isolation.SystemCalls = []string{yurt.CallsPtrace} // so that the layers behind the filter are tried
	change(&spec)
	s, err := a.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

func (a *arena) execute(t *testing.T, sandbox string, spec yurt.ExecutionSpec) *yurt.Result {
	t.Helper()
	if err := a.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatalf("starting an execution: %v", err)
	}
	// No attack may keep its execution from ending; each has a timeout of seconds.
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, 3*time.Minute))
	defer cancel()
	result, err := a.WaitExecution(ctx, sandbox, spec.ID)
	if err != nil {
		t.Fatalf("waiting for an execution: %v", err)
	}
	return result
}

func command(argv ...string) yurt.ExecutionSpec {
	return yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: argv,
		Timeout: yurt.Duration(30 * time.Second), OutputLimit: 1 << 20,
	}
}

func shell(line string) yurt.ExecutionSpec { return command("/bin/sh", "-c", line) }

func program(code string) yurt.ExecutionSpec {
	return command("/usr/bin/python3", "-c", prelude+code+"\nprint('held')\n")
}

// works fails the test if the sandbox does not run a program soon.
func (a *arena) works(t *testing.T, whose, sandbox string) {
	t.Helper()
	a.worksWithin(t, whose, sandbox, 5*time.Second)
}

func (a *arena) worksWithin(t *testing.T, whose, sandbox string, most time.Duration) {
	t.Helper()
	began := time.Now()
	r := a.execute(t, sandbox, shell("echo works > /workspace/works && cat /workspace/works"))
	if r.Stdout != "works\n" || r.ExitCode != 0 {
		t.Errorf("afterwards %s does not work: exit %d, %q, %q, %+v", whose, r.ExitCode, r.Stdout, r.Stderr, r.Error)
	}
	if took := time.Since(began); took > most {
		t.Errorf("afterwards %s takes %s to answer, want at most %s", whose, took, most)
	}
}

func held(t *testing.T, r *yurt.Result) {
	t.Helper()
	if r.Stdout != "held\n" || r.ExitCode != 0 || r.Error != nil {
		t.Errorf("exit %d, error %+v\n%.2000s\n%.2000s", r.ExitCode, r.Error, r.Stdout, r.Stderr)
	}
}

// wage runs each attack in a sandbox of its own. After every attack, its sandbox and the bystander
// work on.
func wage(t *testing.T, attacks []attack) {
	t.Helper()
	newArena(t).wage(t, attacks)
}

func (a *arena) wage(t *testing.T, attacks []attack) {
	t.Helper()
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			t.Log("must fail, since", attack.fails)
			if attack.sandbox == nil {
				attack.sandbox = func(*yurt.SandboxSpec) {}
			}
			sandbox := a.create(t, attack.sandbox)
			spec := program(attack.program)
			spec.Timeout = yurt.Duration(testutil.Moment(t, spec.Timeout.Std()))
			if attack.run != nil {
				attack.run(&spec)
			}
			result := a.execute(t, sandbox, spec)
			if attack.check == nil {
				attack.check = held
			}
			attack.check(t, result)
			a.worksWithin(t, "the sandbox", sandbox, 10*time.Second) // its share of the CPU can be a fifth
			a.works(t, "the bystander", a.bystander)
			if err := a.DestroySandbox(t.Context(), sandbox); err != nil {
				t.Errorf("it cannot be destroyed: %v", err)
			}
		})
	}
}

// TestTheInstrument makes sure that an attack which succeeds would be noticed.
func TestTheInstrument(t *testing.T) {
	a := newArena(t)
	r := a.execute(t, a.bystander, program(`
refused('clock_settime', 0, 0)        # refused, as it should be
refused(39 if X86 else 172)           # getpid, which is not
fails('opening', lambda: open('/etc/passwd').readline().strip())
if in_child(lambda: os.abort()) == 0: got('nothing')
`))
	lines := strings.Split(r.Stdout, "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "got ") || !strings.HasPrefix(lines[1], "got opening root:") || lines[2] != "held" {
		t.Errorf("it reported %q, %q", r.Stdout, r.Stderr)
	}
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Error(err)
	}
}
