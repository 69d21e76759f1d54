package attack

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

//go:embed battery.py
var batteryPrelude string

// battery is a list of attacks of one kind, which one program makes in one sandbox, each in a
// process of its own.
type battery struct {
	name  string
	about string
	layer layer
	fails string
	// stopped are the results that show the layer at work: names of errors or of signals. Any other
	// result fails the test, success and an error for another reason alike.
	stopped []string
	// python comes before the attacks: definitions that several of them need.
	python string
	// facts is Python that names the files and processes of the host that the attacks are after.
	facts   func(t *testing.T) string
	sandbox func(*yurt.SandboxSpec)
	trials  []trial
}

// trial is one attack of a battery.
type trial struct {
	name  string
	tries string
	// code is the body of a Python function that returns if the attack succeeds.
	code string
	// layer, stopped and fails are those of the battery unless they are given.
	layer   layer
	stopped []string
	// without says where the attack succeeds: the test makes it there too.
	without surroundings
}

// surroundings are those of an attack that is to succeed.
type surroundings string

const (
	inSandbox surroundings = ""
	// inNamespaces is root of new namespaces on the host: the layers below the namespaces are off.
	inNamespaces surroundings = "namespaces alone"
	// onHost is root on the host, for attacks that only look.
	onHost surroundings = "no sandbox"
)

// refusals are the errors of a call that never reached the kernel's own code.
func refusals() []string { return []string{"EPERM", "ENOSYS"} }

// program writes the battery's Python with the trials that are chosen.
func (b battery) program(facts string, chosen func(trial) bool) string {
	var text strings.Builder
	text.WriteString(prelude + batteryPrelude + "\n" + facts + "\n" + b.python + "\n")
	for n, attack := range b.trials {
		if !chosen(attack) {
			continue
		}
		fmt.Fprintf(&text, "def attack%d():\n", n)
		for line := range strings.Lines(strings.TrimSpace(attack.code) + "\n") {
			text.WriteString("    " + line)
		}
		fmt.Fprintf(&text, "trial(%q, attack%d)\n", attack.name, n)
	}
	return text.String() + "print('held')\n"
}

// outcomes reads the output of a battery.
func outcomes(t *testing.T, printed string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for line := range strings.Lines(printed) {
		if name, outcome, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			found[name] = outcome
		}
	}
	if !strings.HasSuffix(printed, "held\n") {
		t.Errorf("the battery did not come to its end: %.3000s", printed)
	}
	return found
}

func (b battery) stoppedBy(a trial) []string {
	if a.stopped != nil {
		return a.stopped
	}
	return b.stopped
}

// TestBatteries makes each attack of each battery, in a sandbox for each battery.
func TestBatteries(t *testing.T) {
	a := newArena(t)
	for _, b := range batteries() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			t.Log("must fail, since", b.fails)
			facts := ""
			if b.facts != nil {
				facts = b.facts(t)
			}
			change := b.sandbox
			if change == nil {
				change = func(*yurt.SandboxSpec) {}
			}
			sandbox := a.create(t, change)
			spec := command("/usr/bin/python3", "-")
			spec.Timeout = yurt.Duration(testutil.Moment(t, spec.Timeout.Std()))
			spec.StdinOpen = false
			spec.Stdin = []byte(b.program(facts, func(trial) bool { return true }))
			r := a.execute(t, sandbox, spec)
			if r.Error != nil || r.ExitCode != 0 {
				t.Errorf("exit %d, %+v, %.2000s", r.ExitCode, r.Error, r.Stderr)
			}
			found := outcomes(t, r.Stdout)
			for _, attack := range b.trials {
				t.Run(attack.name, func(t *testing.T) {
					if stopped := b.stoppedBy(attack); !slices.Contains(stopped, found[attack.name]) {
						t.Errorf("%s: it ended with %q, want one of %q", attack.tries, found[attack.name], stopped)
					}
				})
			}
			a.works(t, "the sandbox", sandbox)
			a.works(t, "the bystander", a.bystander)
		})
	}
}

// TestBatteriesWithoutTheLayer makes the attacks that name a place where they succeed, there: in a
// sandbox, the sandbox itself stops them.
func TestBatteriesWithoutTheLayer(t *testing.T) {
	testutil.NeedsSandboxes(t)
	made := 0
	for _, b := range batteries() {
		for _, where := range []surroundings{inNamespaces, onHost} {
			chosen := func(a trial) bool { return a.without == where }
			if !slices.ContainsFunc(b.trials, chosen) {
				continue
			}
			t.Run(b.name+" with "+string(where), func(t *testing.T) {
				facts := "FIRST = os.getppid()\n" // this process, in the place of yurt-init
				if b.facts != nil {
					facts += b.facts(t)
				}
				found := outcomes(t, runUnconfined(t, where, b.program(facts, chosen)))
				for _, attack := range b.trials {
					if !chosen(attack) {
						continue
					}
					made++
					if !strings.HasPrefix(found[attack.name], "succeeded") {
						t.Errorf("%s (%s) ended with %q without the layer: the attack shows nothing", attack.name, attack.tries, found[attack.name])
					}
				}
			})
		}
	}
	t.Logf("%d attacks succeed without the layer", made)
}

// runUnconfined runs a program without a sandbox.
func runUnconfined(t *testing.T, where surroundings, program string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-")
	if where == inNamespaces {
		// Its own /proc, and a /tmp that it may mount on.
		cmd = exec.CommandContext(t.Context(), "/bin/sh", "-c", "mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs tmpfs /tmp && exec /usr/bin/python3 -")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65536}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65536}},

			GidMappingsEnableSetgroups: true,
		}
	}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(program)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the attacks with %s: %v: %s", where, err, out)
	}
	return string(out)
}
