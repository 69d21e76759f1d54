//go:build long

package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// otherTests are the executor's tests that run in the machine beside the short ones.
func otherTests() []string {
	return []string{
		"TestSystemCallFilter",                        // clone3 for init alone
		"TestLayer",                                   // namespaces and a cgroup by one clone3
		"TestPythonThroughThePlugin",                  // a runtime's files, and its result's descriptor
		"TestForksHaveCgroupsOfTheirOwn",              // those of forks
		"TestShareOfCPU",                              // cpu.max
		"TestKilledExecutorIsFollowedByAnother",       // groups taken over
		"TestRunsFollowEachOther",                     // from interpreters of their own on to forks
		"TestForksAreLikeFreshInterpreters",           // forks of a zygote, which are moved into their cgroup ahead
		"TestForksAreApart",                           // each
		"TestForksHaveTheirMemory",                    // with the pages copied by then
		"TestForksThatWaitAreEnded",                   // not even when they were killed there
		"TestZygoteIsOutOfReach",                      // with the known attacks on a zygote
		"TestForksOutliveTheExecutor",                 // cgroups that are found by their attribute
		"TestForkOfAKilledExecutor",                   // and removed where they have no run
		"TestForksEndAtTheTimeoutForTheNextExecutor",  // and killed
		"TestForksEndLikeFreshInterpreters",           // with a cgroup that is read in the end
		"TestPreload",                                 // modules imported ahead
		"TestFirstRunAfterAClaimIsAFork",              // a zygote in a sandbox that waits
		"TestForkedKernelsAreLikeOthers",              // kernels likewise
		"TestMounts",                                  // cpu.weight, and a file system whose ids cannot be mapped
		"TestLandlock",                                // an older one, and children that borrow init's memory
		"TestLayerTellsHowItsCommandEnded",            // and their end
		"TestUlimits",                                 // of children alone
		"TestTimeoutEndsAProcessWithoutItsMainThread", // and the processes that it misses
		"TestForkBombIsEndedByItsTimeout",             // and the faster way
		"TestBackgroundProcessOutlivesItsExecution",   // a leaf that stays
		"TestTerminal",                                // a child with a terminal, born in its cgroup
		"TestPausedSandboxIsDestroyed",                // and cgroup.kill of a frozen cgroup
		"TestProcesses",                               // as cgroup.procs lists them
		"TestSandboxStats",                            // memory.current, cpu.stat
		"TestDiskLimit",                               // workspaces count towards memory
		"TestDiskImage",                               // loop devices of the machine's own
		"TestDiskImageIsThereForTheNextExecutor",      // and after a restart
		"TestDiskQuota",                               // of a kernel that has project quotas
		"TestDiskQuotaHoldsForTheNextExecutor",        // and after a restart
		"TestDiskQuotaIsGivenBack",                    // with the project
		"TestDiskQuotaOfAbandonedState",               // by any process that removes it
		"TestAppArmorProfile",                         // of a kernel that has AppArmor
		"TestAppArmorProfileThatIsNotEnforced",        // likewise
		"TestLabelsThatTheHostHasNotAreRefused",       // also there
		"TestLastProcessOfTheLimitIsUsable",           // for the runs alone
		"TestLimitsThatTheNodeCannotHoldAreRefused",   // the machine's limits, not its host's
		"TestMemoryAgainAndAgain",                     // memory.events says when it changes
		"TestSandboxThatDiesIsReported",               // a group without its init
		"TestWhatIsDeadOrHalfMadeIsRemoved",           // groups removed
		"TestSlotIsFilledAgain",                       // limits of a group that is there
	}
}

// TestAllOnCgroupV2 runs all tests of the executor that differ on cgroup v2.
func TestAllOnCgroupV2(t *testing.T) { testExecutor(t, append(shortTests(), otherTests()...)) }

// attackTests are the attacks that are made in the machine too: on sandboxes whose cgroups are those of v2, and with a kernel
// that has project quotas.
func attackTests() []string {
	return []string{
		"TestTheInstrument", "TestBatteries", "TestEscapes", "TestKernel", "TestKnownEscapes", "TestNetwork",
		"TestExhaustion", "TestResults", "TestLayers", "TestFiles", "TestNeighbours", "TestProjectQuotas",
		"TestSocketsThatInitKeeps", "TestLocksAsEver", "TestCountersOfTheHostsRootStay", "TestHoards",
	}
}

// TestAttacks attacks sandboxes in the machine.
func TestAttacks(t *testing.T) {
	m := prepare(t)
	goTool(t, "test", "-c", "-tags", "seccomp", "-o", filepath.Join(m.work, "attack.test"), "./test/attack")
	chosen := "^(" + strings.Join(attackTests(), "|") + ")$"
	m.command(t, "/run/vm/attack.test", "-test.v", "-test.timeout="+patience.String(), "-test.run="+chosen)
	passed, _ := m.test(t)
	for _, name := range attackTests() {
		if !passed[name] {
			t.Errorf("%s did not pass in the virtual machine", name)
		}
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
	goTool(t, "test", "-c", "-tags", "seccomp", "-o", filepath.Join(m.work, "executor.test"), "./executor/node")
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
	copyPrograms(t, testutil.BuildYurt(t, "yurt", "test"), filepath.Join(m.work, "bin", "yurt"))
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
