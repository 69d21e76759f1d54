package cgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onV1 returns a manager with a parent directory of the test's own.
func onV1(t *testing.T) *Manager {
	t.Helper()
	if testing.Short() {
		t.Skip("makes cgroups; run without -short")
	}
	manager, err := Open(fmt.Sprintf("yurt-test-cgroup-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	if manager.Version() != 1 {
		t.Fatal("this test needs a host with cgroup v1")
	}
	t.Cleanup(func() {
		manager.RemoveParent()
		for controller, mount := range manager.v1 {
			if _, err := os.Stat(filepath.Join(mount, manager.parent)); err == nil {
				t.Errorf("left behind in %s: %s", controller, manager.parent)
			}
		}
	})
	return manager
}

func createV1(t *testing.T, m *Manager, name string, limits Limits) *groupV1 {
	t.Helper()
	group, err := m.Create(name, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { destroy(t, group) })
	if err := group.Settle(0); err != nil {
		t.Fatal(err)
	}
	return group.(*groupV1)
}

func destroy(t *testing.T, group Group) {
	t.Helper()
	// The test's own context may be done by now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	if err := group.Destroy(ctx); err != nil {
		t.Errorf("destroying: %v", err)
	}
}

func modest() Limits { return Limits{CPU: 0.5, Memory: 64 << 20, PIDs: 50} }

// startIn starts a shell line that is born in the cgroups of the tasks files, and begins
// when the thread that brought it there counts in them no more.
func startIn(t *testing.T, files func() ([]*os.File, error), line string) *exec.Cmd {
	t.Helper()
	tasks, err := files()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(tasks)
	before := ourThreads(t, tasks)
	cmd := exec.Command("/bin/sh", "-c", "read begin; "+line)
	begin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer begin.Close()
	done := make(chan error)
	go onThread(func() {
		for _, f := range tasks {
			if _, err := syscall.Write(int(f.Fd()), []byte("0")); err != nil {
				done <- err
				return
			}
		}
		done <- cmd.Start()
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	waitUntilLeft(t, tasks, before)
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// ourThreads returns the threads of this process that are in the cgroups.
func ourThreads(t *testing.T, tasks []*os.File) map[string]bool {
	t.Helper()
	ours := make(map[string]bool)
	for _, f := range tasks {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range strings.Fields(string(data)) {
			if _, err := os.Stat("/proc/self/task/" + tid); err == nil {
				ours[tid] = true
			}
		}
	}
	return ours
}

// waitUntilLeft waits until no thread of this process but those is in the cgroups.
// One that is frozen there while it ends would stop the Go runtime, and with it the
// thawing.
func waitUntilLeft(t *testing.T, tasks []*os.File, those map[string]bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		now := ourThreads(t, tasks)
		maps.DeleteFunc(now, func(tid string, _ bool) bool { return those[tid] })
		if len(now) == 0 {
			return
		}
	}
	t.Fatal("a thread of this process stays in a cgroup")
}

// onThread calls do on a thread that is not used again, and is not the main one,
// which would stay in the cgroups.
func onThread(do func()) {
	runtime.LockOSThread()
	if syscall.Gettid() != os.Getpid() {
		do()
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); onThread(do) }()
	<-done
	runtime.UnlockOSThread()
}

func wantFile(t *testing.T, dir, file, want string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	if got := strings.TrimSpace(string(data)); err != nil || got != want {
		t.Errorf("%s is %q, want %q (%v)", file, got, want, err)
	}
}

func TestLimitsAreInForce(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", Limits{CPU: 1.25, Memory: 128 << 20, PIDs: 77})
	runs, all := "/runs", "" // init is not in runs, and owns the difference between both
	wantFile(t, g.dir["memory"]+runs, "memory.limit_in_bytes", strconv.Itoa(128<<20))
	wantFile(t, g.dir["memory"]+all, "memory.limit_in_bytes", strconv.Itoa(128<<20+initMemory))
	for _, dir := range []string{runs, all} {
		if _, err := os.Stat(g.dir["memory"] + dir + "/memory.memsw.limit_in_bytes"); err == nil {
			limit, err := readInt(g.dir["memory"]+dir, "memory.limit_in_bytes")
			if err != nil {
				t.Fatal(err)
			}
			wantFile(t, g.dir["memory"]+dir, "memory.memsw.limit_in_bytes", strconv.FormatInt(limit, 10))
		}
		// The limit holds for directories below, which old kernels do only on request.
		wantFile(t, g.dir["memory"]+dir, "memory.use_hierarchy", "1")
	}
	wantFile(t, g.dir["memory"]+all, "memory.kmem.tcp.limit_in_bytes", strconv.Itoa(maxTCP))
	wantFile(t, g.dir["cpu"], "cpu.cfs_period_us", "100000")
	wantFile(t, g.dir["cpu"], "cpu.cfs_quota_us", "125000")
	wantFile(t, g.dir["cpu"], "cpu.shares", "1280")
	wantFile(t, g.dir["pids"]+runs, "pids.max", "78")
	wantFile(t, g.dir["pids"]+all, "pids.max", strconv.Itoa(78+initPIDs))
	devices, err := os.ReadFile(g.dir["devices"] + "/devices.list")
	if err != nil || strings.Contains(string(devices), "a *") || strings.Contains(string(devices), "b ") {
		t.Errorf("devices that are allowed: %q, %v", devices, err)
	}
}

// TestLimitReplaced: limits can be raised and lowered, of all and of the runs.
func TestLimitReplaced(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", modest())
	for _, memory := range []int64{512 << 20, 32 << 20, 64 << 20} {
		limits := Limits{CPU: 1, Memory: memory, PIDs: int(memory >> 20)}
		if err := g.Limit(limits); err != nil {
			t.Fatal(err)
		}
		for dir, want := range map[string]int64{"": memory + initMemory, "/runs": memory} {
			wantFile(t, g.dir["memory"]+dir, "memory.limit_in_bytes", strconv.FormatInt(want, 10))
			if _, err := os.Stat(g.dir["memory"] + dir + "/memory.memsw.limit_in_bytes"); err == nil {
				wantFile(t, g.dir["memory"]+dir, "memory.memsw.limit_in_bytes", strconv.FormatInt(want, 10))
			}
		}
		wantFile(t, g.dir["pids"], "pids.max", strconv.Itoa(limits.PIDs+1+initPIDs))
		wantFile(t, g.dir["pids"]+"/runs", "pids.max", strconv.Itoa(limits.PIDs+1))
	}
}

// TestParentWeighsAsTheMachine: all sandboxes together stand beside other programs by the cores of the machine.
func TestParentWeighsAsTheMachine(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", modest())
	wantFile(t, filepath.Dir(g.dir["cpu"]), "cpu.shares", strconv.Itoa(min(runtime.NumCPU(), 100)*1024))
}

// TestWeightGrowsWithCores: sandboxes stand beside one another by the cores that each may use, unless a weight was asked for.
func TestWeightGrowsWithCores(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", modest())
	for _, each := range []struct {
		cores  float64
		weight int
		want   string
	}{{0.1, 0, "102"}, {0.01, 0, "10"}, {1, 0, "1024"}, {4, 0, "4096"}, {512, 0, "102400"}, {0.1, 100, "1024"}, {1, 1, "10"}} {
		if err := g.Limit(Limits{CPU: each.cores, Memory: 64 << 20, PIDs: 20, CPUWeight: each.weight}); err != nil {
			t.Fatal(err)
		}
		wantFile(t, g.dir["cpu"], "cpu.shares", each.want)
	}
}

// TestRunsLeaveInitItsOwn: runs that have all the processes that they may have leave init room
// for as many threads as it may have.
func TestRunsLeaveInitItsOwn(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", Limits{CPU: 0.5, Memory: 64 << 20, PIDs: 20})
	startIn(t, g.HomeFiles, "while :; do sleep 100 & done 2>/dev/null")
	awaitCount(t, g.dir["pids"]+"/runs", 21)
	init := startIn(t, g.BirthFiles, fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 100 & i=$((i+1)); done; exec sleep 100", initPIDs-2))
	awaitCount(t, g.dir["pids"], 21+initPIDs-1)
	if err := init.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("init is gone: %v", err)
	}
}

// awaitCount waits for the directory to have as many processes in it and below it.
func awaitCount(t *testing.T, dir string, want int64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		n, err := readInt(dir, "pids.current")
		if err != nil {
			t.Fatal(err)
		}
		if n == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %d processes, want %d", dir, n, want)
		}
	}
}

// TestDestroyOfAnOlderVersions: there, init has a directory of its own.
func TestDestroyOfAnOlderVersions(t *testing.T) {
	m := onV1(t)
	g := createV1(t, m, "sandbox", modest())
	var places []string
	for _, c := range []string{"memory", "cpu", "pids", "freezer"} {
		places = append(places, filepath.Join(g.dir[c], "init"))
		if err := os.MkdirAll(places[len(places)-1], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	startIn(t, func() ([]*os.File, error) { return openTasks(places) }, "exec sleep 1000")
	destroy(t, m.Open("sandbox"))
	for _, dir := range g.all() {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

func TestLimitThatCannotBeSet(t *testing.T) {
	m := onV1(t)
	for name, limits := range map[string]Limits{
		"CPU below what the kernel can hold": {CPU: 0.001, Memory: 64 << 20, PIDs: 10},
		"negative processes":                 {CPU: 1, Memory: 64 << 20, PIDs: -5},
		"memory that is none":                {CPU: 1, Memory: -2, PIDs: 10},
	} {
		group, err := m.Create("sandbox", limits)
		if err != nil {
			t.Fatal(err)
		}
		if err := group.Settle(0); err == nil {
			t.Errorf("%s was accepted", name)
		}
		destroy(t, group)
		if names, err := m.Names(); err != nil || len(names) != 0 {
			t.Errorf("%s left %q, %v", name, names, err)
		}
	}
}

func TestNames(t *testing.T) {
	m := onV1(t)
	if names, err := m.Names(); err != nil || len(names) != 0 {
		t.Errorf("before the first: %q, %v", names, err)
	}
	createV1(t, m, "one", modest())
	two := createV1(t, m, "two", modest())
	if names, err := m.Names(); err != nil || strings.Join(names, " ") != "one two" {
		t.Errorf("got %q, %v", names, err)
	}
	m.RemoveParent() // must not, while groups are there
	if names, err := m.Names(); err != nil || len(names) != 2 {
		t.Errorf("removing the parent took the groups along: %q, %v", names, err)
	}
	destroy(t, two)
	destroy(t, two)           // destroying a missing group is no error
	destroy(t, m.Open("two")) // likewise
	if names, err := m.Names(); err != nil || strings.Join(names, " ") != "one" {
		t.Errorf("got %q, %v", names, err)
	}
}

func TestLeafLife(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", modest())
	leaf, err := newLeaf(g, "run")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newLeaf(g, "run"); err == nil {
		t.Error("the same leaf was made twice")
	}
	// Burns CPU, and leaves a process behind.
	cmd := startIn(t, leaf.Files, `sleep 100 & i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done`)
	cmd.Wait()
	if err := leaf.Remove(); !errors.Is(err, ErrBusy) {
		t.Errorf("a leaf with a process in it was removed: %v", err)
	}
	usage, err := usageOf(leaf)
	if err != nil || usage.CPU <= 0 || usage.CPU > time.Minute || usage.MemoryPeak < 4096 || usage.MemoryPeak > 64<<20 || usage.OOMKills != 0 {
		t.Errorf("it used %+v, %v", usage, err)
	}
	// As a restarted executor would find it.
	found, err := g.Find("run")
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := found.Kill(t.Context()); err != nil {
		t.Errorf("killing an empty leaf: %v", err)
	}
	removeSoon(t, found)
	if err := errors.Join(found.Remove(), found.Kill(t.Context())); err != nil {
		t.Errorf("what is gone already: %v", err)
	}
	if _, err := g.Find("run"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a leaf that is gone is found: %v", err)
	}
	if _, err := usageOf(found); err == nil {
		t.Error("what is gone has used something")
	}
	if _, err := found.Files(); err == nil {
		t.Error("what is gone can be entered")
	}
}

// removeSoon removes the leaf, which its last processes leave a moment after their end.
func removeSoon(t *testing.T, leaf Leaf) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		err := leaf.Remove()
		if err == nil {
			return
		}
		if !errors.Is(err, ErrBusy) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestKillOfATreeThatForks has processes that fork as fast as they can, in sessions
// of their own, and ignore every signal that can be ignored.
func TestKillOfATreeThatForks(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", Limits{CPU: 2, Memory: 256 << 20, PIDs: 300})
	leaf, err := newLeaf(g, "run")
	if err != nil {
		t.Fatal(err)
	}
	other, err := newLeaf(g, "other")
	if err != nil {
		t.Fatal(err)
	}
	bystander := startIn(t, other.Files, "sleep 100")
	// As a run is born: limited as all runs of the sandbox are, and in a leaf of its own.
	files := func() ([]*os.File, error) {
		home, err := g.HomeFiles()
		own, errOwn := leaf.Files()
		return append(home, own...), errors.Join(err, errOwn)
	}
	startIn(t, files, `trap "" TERM HUP INT QUIT
		bomb() { trap "" TERM HUP INT QUIT; while :; do (setsid sleep 5 &); (bomb &); done; }
		bomb & bomb & wait; sleep 100`)
	time.Sleep(300 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := leaf.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	removeSoon(t, leaf)
	if err := bystander.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process of another leaf was killed: %v", err)
	}
	wantFile(t, filepath.Join(g.dir["freezer"], "runs"), "freezer.state", "THAWED")
}

// TestKillOfWhatIsStopped must not wait for it to go on.
func TestKillOfWhatIsStopped(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", modest())
	leaf, err := newLeaf(g, "run")
	if err != nil {
		t.Fatal(err)
	}
	cmd := startIn(t, leaf.Files, "kill -STOP $$; echo on")
	time.Sleep(50 * time.Millisecond)
	if err := leaf.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	removeSoon(t, leaf)
}

// TestKillSparesWhoIsPassingThrough: the launcher and init send a thread of theirs
// into a cgroup to have something born there.
func TestKillSparesWhoIsPassingThrough(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", modest())
	leaf, err := newLeaf(g, "run")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := leaf.Files()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(tasks)
	inside, leave, left := make(chan error), make(chan struct{}), make(chan struct{})
	go onThread(func() { // this very process
		defer close(left)
		for _, f := range tasks {
			if _, err := syscall.Write(int(f.Fd()), []byte("0")); err != nil {
				inside <- err
				return
			}
		}
		inside <- nil
		<-leave
	})
	if err := <-inside; err != nil {
		t.Fatal(err)
	}
	victim := startIn(t, leaf.Files, "sleep 100")
	if err := leaf.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if err := victim.Wait(); err == nil {
		t.Error("who belongs there was spared too")
	}
	close(leave)
	<-left
	removeSoon(t, leaf)
}

func TestMemoryLimitKillsAndIsCounted(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", Limits{CPU: 2, Memory: 32 << 20, PIDs: 50})
	leaf, err := newLeaf(g, "run")
	if err != nil {
		t.Fatal(err)
	}
	cmd := startIn(t, leaf.Files, `exec /usr/bin/python3 -c 'x = bytearray(256 << 20)'`)
	if err := cmd.Wait(); err == nil {
		t.Error("it got eight times what it may have")
	}
	usage, err := usageOf(leaf)
	if err != nil || usage.OOMKills != 1 || usage.MemoryPeak > 32<<20 || usage.MemoryPeak < 16<<20 {
		t.Errorf("it used %+v, %v", usage, err)
	}
	removeSoon(t, leaf)
}

func TestProcessLimitHolds(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", Limits{CPU: 2, Memory: 256 << 20, PIDs: 20})
	startIn(t, g.HomeFiles, `i=0; while [ $i -lt 100 ]; do sleep 100 & i=$((i+1)); done 2>/dev/null; wait`)
	deadline := time.Now().Add(5 * time.Second)
	for {
		current, err := readInt(filepath.Join(g.dir["pids"], "runs"), "pids.current")
		if err != nil || current > 21 { // 20 and the forking thread of an init
			t.Fatalf("%d processes are there, %v", current, err)
		}
		if events, err := readField(filepath.Join(g.dir["pids"], "runs"), "pids.events", "max"); err == nil && events > 0 {
			return // refused
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d processes and none was refused", current)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestDestroyEndsWhatIsInside wherever it is.
func TestDestroyEndsWhatIsInside(t *testing.T) {
	m := onV1(t)
	g := createV1(t, m, "sandbox", modest())
	for i := range 3 {
		leaf, err := newLeaf(g, fmt.Sprint("run", i))
		if err != nil {
			t.Fatal(err)
		}
		startIn(t, leaf.Files, "sleep 100 & setsid sleep 100 & wait")
	}
	init := startIn(t, g.BirthFiles, "sleep 100 & wait")
	home := startIn(t, g.HomeFiles, "sleep 100")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		init.Wait()
		home.Wait()
	}()
	destroy(t, m.Open("sandbox"))
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("something lives on")
	}
	if names, err := m.Names(); err != nil || len(names) != 0 {
		t.Errorf("it left %q, %v", names, err)
	}
}

// TestDestroyHalfMade destroys the remains of a create that failed midway.
func TestDestroyHalfMade(t *testing.T) {
	m := onV1(t)
	half := m.groupV1("half")
	if err := os.MkdirAll(filepath.Join(half.dir["memory"], "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	destroy(t, m.Open("half"))
	if names, err := m.Names(); err != nil || len(names) != 0 {
		t.Errorf("it left %q, %v", names, err)
	}
}

func TestKillGivesUpWithItsContext(t *testing.T) {
	g := createV1(t, onV1(t), "sandbox", modest())
	leaf, err := newLeaf(g, "run")
	if err != nil {
		t.Fatal(err)
	}
	startIn(t, leaf.Files, "sleep 100")
	// A process that is frozen from above does not end on any signal.
	runs := filepath.Join(g.dir["freezer"], "runs")
	if err := write(runs, "freezer.state", "FROZEN"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := leaf.Kill(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := write(runs, "freezer.state", "THAWED"); err != nil {
		t.Fatal(err)
	}
}
