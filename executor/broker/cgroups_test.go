package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/broker/wire"
	"github.com/yurtrun/yurt/executor/cgroup"
)

const nodeMemory = 1 << 30 // bytes, of all sandboxes of a test together

// subject is a broker that is asked in this process, or over a socket.
type subject struct {
	broker.Broker
	local *broker.Local // that carries the requests out
}

// onBoth runs a test with each of them.
func onBoth(t *testing.T, test func(t *testing.T, b subject, groups *cgroup.Manager)) {
	t.Parallel()
	t.Run("in this process", func(t *testing.T) {
		t.Parallel()
		local, groups := withCgroups(t)
		test(t, subject{local, local}, groups)
	})
	t.Run("over a socket", func(t *testing.T) {
		t.Parallel()
		local, groups := withCgroups(t)
		test(t, subject{overSocket(t, local, groups), local}, groups)
	})
}

// overSocket returns a client of the broker.
func overSocket(t *testing.T, local *broker.Local, groups *cgroup.Manager) *wire.Client {
	t.Helper()
	ours, end, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := wire.Open(end)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- wire.Serve(context.Background(), theirs, local) }()
	client := wire.NewClient(ours, groups, nil)
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return client
}

// withCgroups returns a broker on cgroups of the test's own.
func withCgroups(t *testing.T) (*broker.Local, *cgroup.Manager) {
	t.Helper()
	groups, err := cgroup.Open(fmt.Sprintf("yurt-test-broker-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	groups.BoundAll(cgroup.All{Memory: nodeMemory, PIDs: 1000})
	t.Cleanup(groups.RemoveParent)
	return broker.NewLocal(broker.Config{Cgroups: groups, Tasks: true, Logger: slog.New(slog.DiscardHandler)}), groups
}

func modest() cgroup.Limits { return cgroup.Limits{CPU: 1, Memory: 64 << 20, PIDs: 50} }

// busySandbox makes a sandbox's cgroup with a run that uses a processor. The program, which needs nothing of init, is its init too.
func busySandbox(t *testing.T, b subject, groups *cgroup.Manager) (id string, run *broker.Meter, program *exec.Cmd) {
	t.Helper()
	id = yurt.NewSandboxID()
	group, err := groups.Create(id, modest())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.End(context.WithoutCancel(t.Context()), id); err != nil {
			t.Error(err)
		}
	})
	program = exec.Command("sh", "-c", "while :; do :; done")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	if err := group.Settle(program.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return id, beginRun(t, b, broker.RunRequest{ID: busyRun}, id, program), program
}

// busyRun is the run in each busy sandbox.
const busyRun = yurt.ExecutionIDPrefix + "busy"

// beginRun makes a run and moves a program there.
func beginRun(t *testing.T, b subject, request broker.RunRequest, sandboxID string, program *exec.Cmd) *broker.Meter {
	t.Helper()
	run, err := b.NewRun(sandboxID, request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Close)
	moveInto(t, b, run, program)
	if err := b.NameRun(sandboxID, request.ID); err != nil {
		t.Fatal(err)
	}
	return run.Usage
}

// moveInto moves a program into the cgroup of a run.
func moveInto(t *testing.T, b subject, run broker.Run, program *exec.Cmd) {
	t.Helper()
	for _, file := range run.Birth {
		path := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
		if b.local.Cgroups.Version() == 2 {
			path = filepath.Join(path, "cgroup.procs")
		}
		if err := os.WriteFile(path, fmt.Append(nil, program.Process.Pid), 0); err != nil {
			t.Error(err)
		}
	}
}

// used returns the CPU time of a run during a moment.
func used(t *testing.T, run *broker.Meter) time.Duration {
	t.Helper()
	before, err := run.Usage()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	after, err := run.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return after.CPU - before.CPU
}

// TestRequestsNameASandbox: each request refuses malformed ids, and those of sandboxes that are not there.
func TestRequestsNameASandbox(t *testing.T) { onBoth(t, testRequestsNameASandbox) }

func testRequestsNameASandbox(t *testing.T, b subject, groups *cgroup.Manager) {
	id, run, _ := busySandbox(t, b, groups)
	requests := map[string]func(id string) error{
		"Freeze": func(id string) error { return b.Freeze(t.Context(), id) },
		"Thaw":   b.Thaw,
		"End":    func(id string) error { return b.End(t.Context(), id) },
		"Resize": func(id string) error {
			return b.Resize(id, yurt.Resources{}, yurt.Resources{Memory: 1 << 20})
		},
		"Open": func(id string) error {
			_, err := b.Open(id, broker.Root)
			return err
		},
		"Signal":   func(id string) error { return b.Signal(id, processOf(t, os.Getpid()), yurt.SignalKill) },
		"KillInit": b.KillInit,
		"Mount":    func(id string) error { return b.Mount(id, broker.Tree{View: "python"}) },
		"Shows": func(id string) error {
			_, err := b.Shows(id, broker.Tree{View: "python"})
			return err
		},
		"Listen": func(id string) error {
			_, err := b.Listen(id)
			return err
		},
	}
	for name, ask := range requests {
		for _, bad := range []string{id + "/missing", "missing/" + id, "/missing", "missing\x00"} { // no path of these exists, see TestCheckName for others
			if err := ask(bad); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
				t.Errorf("%s of %q: %v, want %s", name, bad, err, yurt.CodeInvalidArgument)
			}
		}
		if name == "End" {
			continue // about a sandbox that may be gone
		}
		if err := ask(yurt.NewSandboxID()); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
			t.Errorf("%s of an unknown sandbox: %v, want %s", name, err, yurt.CodeSandboxNotFound)
		}
	}
	if err := b.End(t.Context(), yurt.NewSandboxID()); err != nil {
		t.Errorf("ending a sandbox that is gone: %v", err)
	}
	if used(t, run) == 0 {
		t.Error("a request for another sandbox stopped or ended this one")
	}
}

// TestFreezeThawAndEndOneSandbox: each reaches the sandbox that it names, and not its neighbour.
func TestFreezeThawAndEndOneSandbox(t *testing.T) { onBoth(t, testFreezeThawAndEndOneSandbox) }

func testFreezeThawAndEndOneSandbox(t *testing.T, b subject, groups *cgroup.Manager) {
	id, run, program := busySandbox(t, b, groups)
	_, neighbour, _ := busySandbox(t, b, groups)
	if err := b.Freeze(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if cpu := used(t, run); cpu != 0 {
		t.Errorf("a frozen run used %s", cpu)
	}
	if used(t, neighbour) == 0 {
		t.Error("the neighbour is frozen too")
	}
	if err := b.Thaw(id); err != nil {
		t.Fatal(err)
	}
	if used(t, run) == 0 {
		t.Error("the run does not go on")
	}
	if err := b.End(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err == nil || program.ProcessState.Exited() {
		t.Errorf("the program ended by itself: %v", program.ProcessState)
	}
	if there, err := groups.Has(id); there || err != nil {
		t.Errorf("the cgroup is there: %t, %v", there, err)
	}
	if used(t, neighbour) == 0 {
		t.Error("the neighbour ended too")
	}
}

// TestResizeStaysWithinTheNode: limits that no sandbox may have leave the cgroup as it was.
func TestResizeStaysWithinTheNode(t *testing.T) { onBoth(t, testResizeStaysWithinTheNode) }

func testResizeStaysWithinTheNode(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, _ := busySandbox(t, b, groups)
	had := yurt.Resources{CPU: modest().CPU, Memory: yurt.Size(modest().Memory), PIDs: modest().PIDs}
	for field, change := range map[string][]func(*yurt.Resources){
		"resources.cpu": {
			func(r *yurt.Resources) { r.CPU = 0 }, func(r *yurt.Resources) { r.CPU = -1 },
			func(r *yurt.Resources) { r.CPU = math.NaN() }, func(r *yurt.Resources) { r.CPU = math.Inf(1) },
		},
		"resources.memory": {
			func(r *yurt.Resources) { r.Memory = 0 }, func(r *yurt.Resources) { r.Memory = -1 }, func(r *yurt.Resources) { r.Memory = nodeMemory + 1 },
		},
		"resources.pids": {func(r *yurt.Resources) { r.PIDs = 0 }, func(r *yurt.Resources) { r.PIDs = -1 }, func(r *yurt.Resources) { r.PIDs = 1001 }},
	} {
		for i, spoil := range change {
			wanted := had
			wanted.Memory *= 2
			spoil(&wanted)
			if err := b.Resize(id, had, wanted); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange || !strings.Contains(err.Error(), field) {
				t.Errorf("%s, case %d: %v, want %s", field, i, err, yurt.CodeLimitOutOfRange)
			}
		}
	}
	if got, err := groups.MemoryLimit(id); got != modest().Memory || err != nil {
		t.Errorf("after refusals it has %d bytes, %v, want %d", got, err, modest().Memory)
	}
}

// TestResizeKeepsDisks: a disk keeps its kind, and one that is not in memory its size.
func TestResizeKeepsDisks(t *testing.T) { onBoth(t, testResizeKeepsDisks) }

func testResizeKeepsDisks(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, _ := busySandbox(t, b, groups)
	had := yurt.Resources{CPU: modest().CPU, Memory: yurt.Size(modest().Memory), PIDs: modest().PIDs, Disk: 16 << 20}
	onDisk := had
	onDisk.DiskKind = yurt.DiskImage
	for name, c := range map[string]struct {
		from   yurt.Resources
		change func(*yurt.Resources)
	}{
		"no bound":            {had, func(r *yurt.Resources) { r.Disk = 0 }},
		"more than the most":  {had, func(r *yurt.Resources) { r.Disk = 2 * yurt.MaxDisk }},
		"another kind":        {had, func(r *yurt.Resources) { r.DiskKind = yurt.DiskQuota }},
		"a larger disk image": {onDisk, func(r *yurt.Resources) { r.Disk *= 2 }},
	} {
		wanted := c.from
		c.change(&wanted)
		if code := yurt.CodeOf(b.Resize(id, c.from, wanted)); code != yurt.CodeInvalidArgument && code != yurt.CodeLimitOutOfRange {
			t.Errorf("%s: %q, want a refusal", name, code)
		}
	}
}
