package faults

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
)

// patience bounds the wait for events that must happen, on machines of any speed.
const patience = time.Minute

// daemon is an executor in a process of its own, in one life after the other.
type daemon struct {
	*api.Client

	t        *testing.T
	stateDir string
	program  string
	args     []string  // beside those that every executor has
	process  *exec.Cmd // nil between two lives
}

// newDaemon starts an executor. When the test ends it is stopped, and must leave no processes and
// files behind.
func newDaemon(t *testing.T, args ...string) *daemon {
	t.Helper()
	testutil.NeedsSandboxes(t)
	d := &daemon{t: t, stateDir: t.TempDir(), program: testutil.BuildYurt(t, "yurt-v1", "v1"), args: args}
	client, err := api.NewUnixClient(d.socket())
	if err != nil {
		t.Fatal(err)
	}
	d.Client = client
	t.Cleanup(func() {
		defer client.Close()
		if d.process == nil {
			d.start()
		}
		d.destroyAll()
		d.stop(syscall.SIGTERM)
		d.checkNothingLeft()
		if t.Failed() {
			log, err := os.ReadFile(d.log())
			t.Logf("the executor's log, %v:\n%s", err, log[max(0, len(log)-20_000):])
		}
	})
	d.start()
	return d
}

func (d *daemon) socket() string { return filepath.Join(d.stateDir, "executor.sock") }

func (d *daemon) log() string { return filepath.Join(d.stateDir, "log") }

// start begins another life, and waits until it answers.
func (d *daemon) start() {
	d.t.Helper()
	// To a file: a pipe that a helper of it holds open would keep the test waiting.
	log, err := os.OpenFile(d.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(d.program, append([]string{"executor", "--state-dir", d.stateDir, "--node", "test"}, d.args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.process = cmd
	d.await()
}

// await waits until the executor answers.
func (d *daemon) await() {
	d.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		_, err := d.Describe(context.Background())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("the executor does not answer: %v", err)
		}
	}
}

// restart ends this life and begins another.
func (d *daemon) restart(signal syscall.Signal) {
	d.t.Helper()
	d.stop(signal)
	d.start()
}

// killExecutor kills the executor, and waits until its broker has started another one that answers.
func (d *daemon) killExecutor() {
	d.t.Helper()
	broker := d.process.Process.Pid
	pid, err := leftovers.Executor(broker, 0, patience)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err == nil {
		_, err = leftovers.Executor(broker, pid, patience)
	}
	if err != nil {
		d.t.Fatalf("killing the executor: %v", err)
	}
	d.await()
}

// stop ends this life.
func (d *daemon) stop(signal syscall.Signal) {
	d.t.Helper()
	if err := d.process.Process.Signal(signal); err != nil {
		d.t.Fatalf("stopping the executor: %v", err)
	}
	err := d.process.Wait()
	if signal != syscall.SIGKILL && err != nil {
		d.t.Errorf("stopped by %s it ended with %v", signal, err)
	}
	d.process = nil
}

func (d *daemon) destroyAll() {
	d.t.Helper()
	slots, err := d.Slots(context.Background())
	if err != nil {
		d.t.Error(err)
	}
	for _, s := range slots {
		if err := d.CloseSlot(context.Background(), s.ID); err != nil {
			d.t.Error(err)
		}
	}
	list, err := d.Sandboxes(context.Background())
	if err != nil {
		d.t.Error(err)
	}
	for _, s := range list {
		if err := d.DestroySandbox(context.Background(), s.ID); err != nil {
			d.t.Error(err)
		}
	}
}

// checkNothingLeft wants the machine to be as it was before.
func (d *daemon) checkNothingLeft() {
	d.t.Helper()
	left, err := leftovers.Gone(context.Background(), d.stateDir, patience)
	if err != nil || left.Count() > 0 {
		d.t.Errorf("this is left, %v:\n%s", err, left)
	}
	// A launcher holds this for as long as it is there.
	lock, err := os.Open(filepath.Join(d.stateDir, "launcher.lock"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		d.t.Errorf("a launcher is left: %v", err)
	}
}
