package broker_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

func processOf(t *testing.T, pid int) procid.ID {
	t.Helper()
	process, err := procid.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

// TestSignalReachesRunsAlone: no process of the host or of a neighbour gets a signal, nor one that has the number of another by now.
func TestSignalReachesRunsAlone(t *testing.T) { onBoth(t, testSignalReachesRunsAlone) }

func testSignalReachesRunsAlone(t *testing.T, b subject, groups *cgroup.Manager) {
	id, _, program := busySandbox(t, b, groups)
	_, neighbour, other := busySandbox(t, b, groups)
	its := processOf(t, program.Process.Pid)
	later := its
	later.Start++
	for name, process := range map[string]procid.ID{
		"this process": processOf(t, os.Getpid()), "the first process": processOf(t, 1), "a neighbour's": processOf(t, other.Process.Pid),
		"another of its number": later, "a group": {PID: -its.PID}, "all": {PID: -1}, "no process": {},
	} {
		if err := b.Signal(id, process, yurt.SignalKill); yurt.CodeOf(err) != yurt.CodeProcessNotFound {
			t.Errorf("a signal to %s: %v, want %s", name, err, yurt.CodeProcessNotFound)
		}
	}
	for _, signal := range []yurt.Signal{-1, 0, yurt.MaxSignal + 1} {
		if err := b.Signal(id, its, signal); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("signal %d: %v, want %s", signal, err, yurt.CodeInvalidArgument)
		}
	}
	if err := b.Signal(id, its, yurt.SignalKill); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err == nil || program.ProcessState.Exited() {
		t.Errorf("the program ended by itself: %v", program.ProcessState)
	}
	if used(t, neighbour) == 0 {
		t.Error("the neighbour has ended too")
	}
}

// TestKillInit ends the init that the sandbox has.
func TestKillInit(t *testing.T) { onBoth(t, testKillInit) }

func testKillInit(t *testing.T, b subject, groups *cgroup.Manager) {
	id, init := rootedSandbox(t, b, groups, "/")
	if err := b.local.SetInit(id, procid.ID{PID: os.Getpid(), Start: 1}); err != nil {
		t.Fatal(err)
	}
	if err := b.KillInit(id); err == nil {
		t.Error("it killed a process that has the number of an init before it")
	}
	if err := b.local.SetInit(id, processOf(t, init.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if err := b.KillInit(id); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(init.Process.Pid, &status, 0, nil); err != nil || !status.Signaled() {
		t.Errorf("init ended with %v, %v", status, err)
	}
}
