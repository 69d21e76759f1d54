package faults

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestKilledExecutorIsReplaced: its broker starts another one, which adopts the sandboxes and makes more.
func TestKilledExecutorIsReplaced(t *testing.T) {
	d := newDaemon(t)
	l := newLoad(t, d)
	survivors := readyOnes(l.mustCreate(), l.mustCreate())
	broker := d.process.Process.Pid
	for range 3 {
		d.killExecutor()
		l.checkSurvivors(survivors)
		made := l.mustCreate()
		survivors[made.ID] = survivor{made.PID, []yurt.SandboxState{yurt.SandboxReady}}
	}
	if _, err := leftovers.Executor(broker, 0, patience); err != nil {
		t.Error(err)
	}
	d.restart(syscall.SIGKILL)
	l.checkSurvivors(survivors)
	l.checkQuiet()
}

// TestExecutorEndsWithItsBroker: a moment after kill -9 of the broker there is no other process that takes requests.
func TestExecutorEndsWithItsBroker(t *testing.T) {
	d := newDaemon(t)
	executor, err := leftovers.Executor(d.process.Process.Pid, 0, patience)
	if err != nil {
		t.Fatal(err)
	}
	d.stop(syscall.SIGKILL)
	testutil.Eventually(t, "the executor is gone", func() bool { return unix.Kill(executor, 0) != nil })
}

// TestSignalsOfAGroup: an interrupt that reaches the broker and the executor at the same time, as that of a terminal and of systemd
// does, lets the executor end in an orderly way. So does one for the executor alone.
func TestSignalsOfAGroup(t *testing.T) {
	d := newDaemon(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		executor, err := leftovers.Executor(d.process.Process.Pid, 0, patience)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(executor, signal); err != nil {
			t.Fatal(err)
		}
		d.stop(signal) // which wants no error
		d.start()
	}
	executor, err := leftovers.Executor(d.process.Process.Pid, 0, patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(executor, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.process.Wait(); err != nil {
		t.Errorf("the broker ended with %v after its executor was asked to end", err)
	}
	d.process = nil
}

// TestSystemdIsTold: by the broker, the process that systemd has started, in each life of the executor.
func TestSystemdIsTold(t *testing.T) {
	testutil.NeedsSandboxes(t)
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := (&net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
	}}).ListenPacket(t.Context(), "unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	d := newDaemon(t)
	broker := d.process.Process.Pid
	wantWord(t, socket.(*net.UnixConn), "READY=1", broker)
	d.killExecutor()
	wantWord(t, socket.(*net.UnixConn), "READY=1", broker)
	d.stop(syscall.SIGTERM)
	wantWord(t, socket.(*net.UnixConn), "STOPPING=1", broker)
}

// wantWord reads the next word for systemd, and wants the process to have sent it.
func wantWord(t *testing.T, socket *net.UnixConn, want string, sender int) {
	t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	word, control := make([]byte, 100), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	n, m, _, _, err := socket.ReadMsgUnix(word, control)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:m])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d credentials come with %q, %v", len(messages), word[:n], err)
	}
	from, err := unix.ParseUnixCredentials(&messages[0])
	if err != nil || string(word[:n]) != want || int(from.Pid) != sender {
		t.Errorf("process %+v says %q, %v; want process %d to say %q", from, word[:n], err, sender, want)
	}
}
