package vm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/test/rig"
)

// ownTests are the executor's tests that run in the machine, for what each shows on
// cgroup v2. None asserts how long anything takes.
func ownTests() []string {
	return []string{
		"TestCommandResult",                           // processes born in their cgroup, and what cannot be started
		"TestPythonThroughThePlugin",                  // a runtime's files, and its result's descriptor
		"TestRunsFollowEachOther",                     // from interpreters of their own on to forks
		"TestForksAreLikeFreshInterpreters",           // forks of a zygote, which are moved into their cgroup ahead
		"TestForksAreApart",                           // each
		"TestForksAreLimited",                         // and are ended with it
		"TestForksHaveTheirMemory",                    // with what they have copied by then
		"TestForksHaveCgroupsOfTheirOwn",              // and nobody else's
		"TestForksThatWaitAreEnded",                   // not even when they were killed there
		"TestZygoteIsOutOfReach",                      // with what attacks there are on a zygote
		"TestForksOutliveTheExecutor",                 // cgroups that are found by their attribute
		"TestForkOfAKilledExecutor",                   // and removed where they have no run
		"TestForksEndAtTheTimeoutForTheNextExecutor",  // and killed
		"TestForksEndLikeFreshInterpreters",           // with a cgroup that is read in the end
		"TestPreload",                                 // modules imported ahead
		"TestFirstRunAfterAClaimIsAFork",              // a zygote in a sandbox that waits
		"TestForkedKernelsAreLikeOthers",              // kernels likewise
		"TestIsolation",                               // cgroup namespace, device rules, nothing inherited
		"TestSystemCallFilter",                        // clone3 for init alone
		"TestMounts",                                  // cpu.weight, and a file system whose ids cannot be mapped
		"TestLandlock",                                // an older one, and children that borrow init's memory
		"TestLayer",                                   // namespaces and a cgroup by one clone3
		"TestLayerTellsHowItsCommandEnded",            // and their end
		"TestUlimits",                                 // of children alone
		"TestTimeoutEndsTheWholeTree",                 // cgroup.kill
		"TestTimeoutEndsAProcessWithoutItsMainThread", // and what it misses
		"TestForkBombIsEndedByItsTimeout",             // and what is faster
		"TestBackgroundProcessOutlivesItsExecution",   // a leaf that stays
		"TestTerminal",                                // a child with a terminal, born in its cgroup
		"TestPausedSandboxStandsStill",                // cgroup.freeze
		"TestPausedSandboxIsDestroyed",                // and cgroup.kill of what is frozen
		"TestProcesses",                               // as cgroup.procs lists them
		"TestSandboxStats",                            // memory.current, cpu.stat
		"TestMemoryLimit",                             // memory.max, memory.events, memory.peak
		"TestDiskLimit",                               // workspaces count towards memory
		"TestDiskImage",                               // loop devices of the machine's own
		"TestDiskImageIsThereForTheNextExecutor",      // and after a restart
		"TestDiskQuota",                               // of a kernel that has project quotas
		"TestDiskQuotaHoldsForTheNextExecutor",        // and after a restart
		"TestDiskQuotaIsGivenBack",                    // with the project
		"TestDiskQuotaOfAbandonedState",               // by whoever removes it
		"TestAppArmorProfile",                         // of a kernel that has AppArmor
		"TestAppArmorProfileThatIsNotEnforced",        // likewise
		"TestLabelsThatTheHostHasNotAreRefused",       // also there
		"TestProcessLimit",                            // pids.max
		"TestLastProcessOfTheLimitIsUsable",           // for the runs alone
		"TestShareOfCPU",                              // cpu.max
		"TestLimitsThatTheNodeCannotHoldAreRefused",   // what the machine has, not its host
		"TestSandboxThatDiesIsReported",               // a group without its init
		"TestKilledExecutorIsFollowedByAnother",       // groups taken over
		"TestWhatIsDeadOrHalfMadeIsRemoved",           // groups removed
		"TestSlotIsFilledAgain",                       // limits of a group that is there
		"TestDoctorAgreesWithWhatWorks",               // and says version 2
	}
}

// testsEnv names tests of the executor to run instead, by a regular expression.
const testsEnv = "YURT_VM_TESTS"

// patience is how long the machine may take, emulated and on a host that is busy.
const patience = 20 * time.Minute

func TestExecutorOnCgroupV2(t *testing.T) {
	m := prepare(t)
	goTool(t, "test", "-c", "-tags", "seccomp", "-o", filepath.Join(m.work, "executor.test"), "./executor")
	m.command(t, "/run/vm/executor.test", "-test.v", "-test.timeout="+patience.String(), "-test.run="+pattern())
	passed, output := m.test(t)
	if os.Getenv(testsEnv) != "" {
		t.Log(output)
		return
	}
	for _, name := range ownTests() {
		if !passed[name] {
			t.Errorf("%s did not pass in the virtual machine", name)
		}
	}
}

// TestAttacksOnQuotas attacks workspaces that project quotas bound, which this machine's
// kernel may have none of.
func TestAttacksOnQuotas(t *testing.T) {
	m := prepare(t)
	goTool(t, "test", "-c", "-tags", "seccomp", "-o", filepath.Join(m.work, "attack.test"), "./test/attack")
	m.command(t, "/run/vm/attack.test", "-test.v", "-test.timeout="+patience.String(), "-test.run=^TestProjectQuotas$")
	if passed, _ := m.test(t); !passed["TestProjectQuotas"] {
		t.Error("the attacks were not run")
	}
}

// TestSELinux boots the machine with SELinux, of which a kernel has one policy, in AppArmor's place.
func TestSELinux(t *testing.T) {
	m := prepare(t)
	m.boot = "security=selinux selinux=1 enforcing=1"
	policy := filepath.Join(m.work, "policy")
	cmd := exec.CommandContext(t.Context(), "secilc", "--output="+policy, "--filecontext="+os.DevNull, "testdata/policy.cil")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compiling the policy (Debian: apt-get install secilc): %v: %s", err, out)
	}
	goTool(t, "test", "-c", "-tags", "seccomp", "-o", filepath.Join(m.work, "executor.test"), "./executor")
	m.command(t, "/run/vm/executor.test", "-test.v", "-test.timeout="+patience.String(), "-test.run=^TestSELinux")
	passed, _ := m.test(t)
	for _, name := range []string{"TestSELinuxLabels", "TestSELinuxAndQuotas", "TestSELinuxDenies", "TestSELinuxThatIsNotEnforced"} {
		if !passed[name] {
			t.Errorf("%s did not pass in the virtual machine", name)
		}
	}
}

// TestClockJumps sets the clock of a machine ahead and back while sessions are served there.
func TestClockJumps(t *testing.T) {
	m := prepare(t)
	copyPrograms(t, rig.BuildYurt(t, "yurt", "test"), filepath.Join(m.work, "bin", "yurt"))
	goTool(t, "build", "-o", filepath.Join(m.work, "jump"), "./test/vm/jump")
	m.command(t, "/run/vm/jump")
	m.test(t)
}

// TestClockOfSeveralJumps sets the clock of a machine on which several controllers and their
// store's server are.
func TestClockOfSeveralJumps(t *testing.T) {
	const test, part = "TestSeveralControllers", "the clock of the store jumps"
	m := prepare(t, "YURT_TEST_SETS_CLOCK=1")
	goTool(t, "test", "-c", "-o", filepath.Join(m.work, "controller.test"), "./controller")
	m.command(t, "/run/vm/controller.test", "-test.v", "-test.timeout="+patience.String(), "-test.run=^"+test+"$/^"+part+"$")
	passed, output := m.test(t)
	if !passed[test] || !strings.Contains(output, "the machine's clock is set") {
		t.Errorf("it did not pass in the virtual machine, or its clock was not set:\n%s", output)
	}
}

// test runs the machine, and returns which tests passed and what they printed.
func (m machine) test(t *testing.T) (passed map[string]bool, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var text strings.Builder
	passed = make(map[string]bool)
	started, booted := time.Now(), time.Time{}
	status, err := m.run(ctx, func(line string) {
		if booted.IsZero() {
			booted = time.Now()
		}
		text.WriteString(line + "\n")
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(line, "--- PASS: ") {
			passed[fields[2]] = true
			t.Log(line)
		}
	})
	t.Logf("%s, booted in %s, tested in %s", m.accelerator.name, booted.Sub(started).Round(time.Millisecond), time.Since(booted).Round(time.Millisecond))
	if err != nil || status != 0 {
		t.Errorf("in the virtual machine the tests exited with %d, %v\n%s\nits kernel said:\n%s", status, err, text.String(), m.messages())
	}
	return passed, text.String()
}

// prepare builds what a machine is made of, with Yurt's programs in it, and more in the
// environment of its tests.
func prepare(t *testing.T, environment ...string) machine {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a virtual machine; run without -short")
	}
	dir := t.TempDir()
	m := machine{
		kernel: getKernel(t), accelerator: chooseAccelerator(),
		initrd: filepath.Join(dir, "initrd"), work: filepath.Join(dir, "work"), console: filepath.Join(dir, "console"),
	}
	guest := filepath.Join(dir, "guest")
	goTool(t, "build", "-o", guest, "./test/vm/guest")
	initrd, err := initramfs(guest, m.kernel)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, m.initrd, string(initrd))

	bin := filepath.Join(m.work, "bin")
	b := rig.Build(t)
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{b.Init, b.Launcher, b.PluginDir} {
		copyPrograms(t, source, filepath.Join(bin, filepath.Base(source)))
	}
	writeFile(t, filepath.Join(m.work, "environment"), strings.Join(append(environment,
		"YURT_TEST_BIN=/run/vm/bin", "YURT_TEST_COMPLETE=1", "YURT_TEST_SLOWNESS="+m.accelerator.slowness,
	), "\n"))
	return m
}

// command says what runs in the machine.
func (m machine) command(t *testing.T, words ...string) {
	t.Helper()
	writeFile(t, filepath.Join(m.work, "command"), strings.Join(words, "\n"))
}

func pattern() string {
	if chosen := os.Getenv(testsEnv); chosen != "" {
		return chosen
	}
	return "^(" + strings.Join(ownTests(), "|") + ")$"
}

// goTool runs the go command at the top of the module, without cgo.
func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = rig.Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func writeFile(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyPrograms copies a program, or those of a directory.
func copyPrograms(t *testing.T, source, target string) {
	t.Helper()
	info, err := os.Stat(source)
	if err == nil && info.IsDir() {
		err = os.CopyFS(target, os.DirFS(source))
	} else if err == nil {
		var data []byte
		if data, err = os.ReadFile(source); err == nil {
			err = os.WriteFile(target, data, 0o755)
		}
	}
	if err != nil {
		t.Fatalf("copying what was built: %v", err)
	}
}
