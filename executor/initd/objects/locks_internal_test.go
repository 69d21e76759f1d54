package objects

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLocksOf counts the locks of a process that holds 500 of them, however it does.
func TestLocksOf(t *testing.T) {
	for name, take := range map[string]string{
		"ranges of a file":       "f = open(path, 'w')\nfor n in range(500): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * n)",
		"ranges, of descriptors": "f = open(path, 'w')\nfor n in range(500): fcntl.fcntl(f, 37, struct.pack('hhqqi4x', 1, 0, 2 * n, 1, 0))",
		"files":                  "kept = [open(path) for _ in range(500)]\nfor f in kept: fcntl.flock(f, fcntl.LOCK_SH)",
		"files that are mapped": "libc = ctypes.CDLL(None)\nfor n in range(500):\n" +
			"    fd = os.open(path, 0); fcntl.flock(fd, fcntl.LOCK_SH); libc.mmap(None, 4096, 1, 1, fd, 0); os.close(fd)",
		"a thread of a process whose first thread has ended": "f = open(path, 'w')\nfor n in range(500): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * n)\nthread = True",
	} {
		t.Run(name, func(t *testing.T) {
			code := fmt.Sprintf(`
import ctypes, fcntl, os, struct, sys, threading, time
path, thread = %q, False
open(path, 'w').write('x'); sys.stdin.readline()
%s
def ready(): time.sleep(0.1); print(flush=True); time.sleep(60)
if not thread: ready()
threading.Thread(target=ready).start(); ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0) # exit, of this thread
`, t.TempDir()+"/file", take)
			python := exec.CommandContext(t.Context(), "python3", "-c", code)
			in, err := python.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := python.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := python.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = python.Process.Kill(), python.Wait() }()
			dir := fmt.Sprint("/proc/", python.Process.Pid)
			sum := func() int { locks, mapped := locksOf(dir); return locks + mapped }
			before := sum()
			if _, err := fmt.Fprintln(in); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			const slack = 200 // files that the interpreter has mapped meanwhile, or that it had before
			if got := sum(); got < 500 || got-before > 500+slack {
				t.Errorf("it has %d locks, and had %d before it took 500", got, before)
			}
		})
	}
}

// TestBudgetThatIsFull refuses calls for a while without counting again, and lets them through afterwards.
func TestBudgetThatIsFull(t *testing.T) {
	empty, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	b := Locks(empty)
	b.calls, b.full = 0, time.Now()
	if err := b.Take(); !errors.Is(err, unix.ENOLCK) {
		t.Errorf("a full budget answers %v, want ENOLCK", err)
	}
	b.full = time.Now().Add(-2 * rest)
	if err := b.Take(); err != nil {
		t.Errorf("after a new count it answers %v", err)
	}
	if b.calls != MaxLocks/2-1 {
		t.Errorf("after a new count there is room for %d calls", b.calls)
	}
}
