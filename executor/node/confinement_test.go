package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/doctor"
	"github.com/yurtrun/yurt/test/testutil"
)

// onUnified reports whether this host's cgroups are pure version 2.
func onUnified() bool {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return err == nil
}

// TestSystemCallFilter makes calls that user code must not make. The one that
// yurt-init itself needs on cgroup v2 is among them.
func TestSystemCallFilter(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	r := testutil.Execute(t, e, s.ID, testutil.Python(`
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def errno(number):
    ctypes.set_errno(0)
    libc.syscall(number, 0, 0, 0, 0, 0)
    return ctypes.get_errno()
print('clone3', errno(435))
print('keyctl', errno(250))
print('newer than the list', errno(9999))`))
	if want := "clone3 38\nkeyctl 1\nnewer than the list 38\n"; r.Stdout != want { // ENOSYS, EPERM, ENOSYS
		t.Errorf("got %q %+v, want %q", r.Stdout, r.Error, want)
	}
	filters := 2 // init's, inherited, and that which hands calls about sockets to init
	if onUnified() {
		filters++ // and the command's own
	}
	status := testutil.Run(t, e, s.ID, "grep ^Seccomp /proc/self/status").Stdout
	if want := fmt.Sprintf("Seccomp:\t2\nSeccomp_filters:\t%d\n", filters); status != want {
		t.Errorf("its status says %q, want %q", status, want)
	}
	killed := testutil.Execute(t, e, s.ID, testutil.Python("import ctypes\nctypes.CDLL(None).syscall(0x40000000 + 39)"))
	testutil.WantErrorType(t, killed, yurt.ErrorTypeSignaled) // a call by x32's numbers
}

// TestLastProcessOfTheLimitIsUsable: starting a run takes no more processes than
// the run has.
func TestLastProcessOfTheLimitIsUsable(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.PIDs = yurt.MinPIDs })
	sleepers := strings.Repeat("sleep 300 & ", yurt.MinPIDs-1)
	if r := testutil.Run(t, e, s.ID, sleepers+"echo begun"); r.Stdout != "begun\n" {
		t.Fatalf("%+v", r)
	}
	if r := testutil.Run(t, e, s.ID, "echo runs"); r.Stdout != "runs\n" {
		t.Errorf("with one process left: %+v, stderr %q", r.Error, r.Stderr)
	}
	last := testutil.Command("exec sleep 300")
	if err := e.StartExecution(t.Context(), s.ID, last); err != nil {
		t.Fatal(err)
	}
	r := testutil.Run(t, e, s.ID, "echo runs")
	testutil.WantErrorType(t, r, yurt.ErrorTypeSandboxFailed)
	if !strings.Contains(r.Error.Message, "resource temporarily unavailable") {
		t.Errorf("with none left it is said: %s", r.Error.Message)
	}
}

// TestShareOfCPU measures inside, so that it holds however slow the machine is.
func TestShareOfCPU(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.CPU = 0.25 })
	r := testutil.Execute(t, e, s.ID, testutil.Python(`
import time
wall, cpu = time.monotonic(), time.process_time()
while time.monotonic() - wall < 2: pass
print((time.process_time() - cpu) / (time.monotonic() - wall))`))
	var share float64
	if _, err := fmt.Sscan(r.Stdout, &share); err != nil || share < 0.1 || share > 0.35 {
		t.Errorf("with 0.25 cores it used %q of one, %+v", r.Stdout, r.Error)
	}
}

func TestDoctorAgreesWithWhatWorks(t *testing.T) {
	e := testutil.Executor(t)
	testutil.Create(t, e)
	found := make(map[string]bool)
	want := "on cgroup v1"
	if onUnified() {
		want = "on cgroup v2"
	}
	for _, f := range doctor.Examine(t.Context()) {
		found[f.Mechanism] = true
		if f.Detail == "" || f.Consequence == "" {
			t.Errorf("it is not said what its absence means: %+v", f)
		}
		if f.Required && f.State != doctor.InForce {
			t.Errorf("a sandbox was made, and %s is said to be %s: %s", f.Mechanism, f.State, f.Detail)
		}
		if f.Mechanism == "cgroup limits" && !strings.Contains(f.Detail, want) {
			t.Errorf("%s: %q, want %q in it", f.Mechanism, f.Detail, want)
		}
	}
	for _, mechanism := range []string{
		"root", "user namespace", "pid namespace", "network namespace", "mount namespace", "ipc namespace", "uts namespace", "cgroup namespace",
		"seccomp", "cgroup limits", "swap limit", "io weight", "runtime directory", "processors stay awake", "memory shortage", "disk limit in memory", "disk limit by image", "project quota", "time namespace",
		"identity", "root file system", "path resolution", "capabilities", "rlimits", "shared stores", "descriptors",
		"keyring", "core dumps", "landlock", "mandatory access control", "second layer", "gVisor",
	} {
		if !found[mechanism] {
			t.Errorf("nothing is said of %s", mechanism)
		}
	}
}

// TestInitIsNotDumpable: the kernel gives the files of such a process in /proc to the host's root, and not to the
// process's own user. This holds without the other barriers.
func TestInitIsNotDumpable(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	var owner unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/status", s.PID), &owner); err != nil {
		t.Fatal(err)
	}
	if owner.Uid != 0 {
		t.Errorf("its files are those of %d", owner.Uid)
	}
}

// TestInitGivesUpMounting: no thread of yurt-init can mount once it answers, nor get the
// capability back.
func TestInitGivesUpMounting(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	statuses, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", s.PID))
	if err != nil || len(statuses) < 2 {
		t.Fatalf("its threads are %q, %v", statuses, err)
	}
	for _, path := range statuses {
		status, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sets := regexp.MustCompile(`Cap(Inh|Prm|Eff|Bnd|Amb):\t([0-9a-f]+)`).FindAllStringSubmatch(string(status), -1)
		if len(sets) != 5 {
			t.Fatalf("%s says %s", path, status)
		}
		for _, set := range sets {
			bits, err := strconv.ParseUint(set[2], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if bits&(1<<unix.CAP_SYS_ADMIN) != 0 {
				t.Errorf("%s: the set %s is %s, with the capability to mount", path, set[1], set[2])
			}
		}
	}
}
