package pidfd_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/pidfd"
)

func TestWait(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file, err := pidfd.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
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
	cmd := exec.CommandContext(t.Context(), "sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file, err := pidfd.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
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
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file, err := pidfd.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
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
