package pidfd_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/yurtrun/yurt/internal/linux/pidfd"
)

// start returns a child that was just started.
func start(t *testing.T, name string, args ...string) (*exec.Cmd, *pidfd.File) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file, err := pidfd.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, file
}

func TestWait(t *testing.T) {
	cmd, file := start(t, "sleep", "100")
	defer file.Close()
	ended := make(chan error, 1)
	go func() { ended <- file.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it returned while the process runs: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := file.Wait(); err != nil { // also long after
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := pidfd.Open(cmd.Process.Pid); err == nil {
		t.Error("a process that is gone can be watched")
	}
}

func TestCloseEndsWait(t *testing.T) {
	_, file := start(t, "sleep", "100")
	ended := make(chan error, 1)
	go func() { ended <- file.Wait() }()
	time.Sleep(20 * time.Millisecond)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("it says that the process has ended")
	}
}

func TestReap(t *testing.T) {
	cmd, file := start(t, "true")
	defer file.Close()
	if err := file.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := file.Reap(); err != nil {
		t.Error(err)
	}
	if _, err := pidfd.Open(cmd.Process.Pid); err == nil {
		t.Error("a process is there that was reaped")
	}
	if err := file.Reap(); err == nil {
		t.Error("it was reaped twice")
	}
}
