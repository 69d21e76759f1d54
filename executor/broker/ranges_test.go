package broker_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// TestRangesAreForOneSandbox: a broker that has not started the sandbox with the range finds it. A start that failed, and the end of the sandbox, give the range back.
func TestRangesAreForOneSandbox(t *testing.T) { onBoth(t, testRangesAreForOneSandbox) }

func testRangesAreForOneSandbox(t *testing.T, b subject, groups *cgroup.Manager) {
	b.local.Dirs = storeDirs(filepath.Join(t.TempDir(), "absent")) // so that each start fails after the checks
	id, _, _ := busySandbox(t, b, groups)
	if err := b.local.SetInit(id, inRange(t, idrange.First)); err != nil {
		t.Fatal(err)
	}
	start := func(base uint32) error {
		_, err := b.Start(t.Context(), broker.StartRequest{
			ID: yurt.NewSandboxID(), IDBase: base, Limits: yurt.Resources{CPU: 1, Memory: 64 << 20, Disk: 1 << 20, PIDs: 50},
		})
		return err
	}
	var refused *yurt.Error
	if err := start(idrange.First); !errors.As(err, &refused) || refused.Field != "id_base" {
		t.Errorf("starting a sandbox with the ids of another: %v, want a refusal of id_base", err)
	}
	for range 2 {
		if err := start(idrange.First + idrange.Size); yurt.CodeOf(err) != yurt.CodeSandboxFailed {
			t.Errorf("starting a sandbox with ids of its own: %v, want %s for want of a directory", err, yurt.CodeSandboxFailed)
		}
	}
	if err := b.End(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := start(idrange.First); yurt.CodeOf(err) != yurt.CodeSandboxFailed {
		t.Errorf("starting a sandbox with the ids of one that has ended: %v, want %s for want of a directory", err, yurt.CodeSandboxFailed)
	}
}

// inRange starts a process in a user namespace with the ids from base on, with mounts of its own.
func inRange(t *testing.T, base int) procid.ID {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "600")
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: base, Size: idrange.Size}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: ids, GidMappings: ids, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(os.Kill); _ = cmd.Wait() })
	id, err := procid.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
