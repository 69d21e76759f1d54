package attack

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// TestCountersOfTheHostsRootStay: sandboxes fill stores that the kernel counts by user. The counters of the host's root, of which a
// namespace of root's would take, do not move, and no sandbox takes from another.
func TestCountersOfTheHostsRootStay(t *testing.T) {
	a := newArena(t)
	before := queuedSignals(t)
	fill := `
count = 0
while count < 16 and libc.inotify_init1(0) >= 0: count += 1
if count != 16: got('no more than', count, 'instances of inotify')
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
count = 0
while count < 3000 and libc.sigqueue(os.getpid(), 40, None) == 0: count += 1
if count != 3000: got('no more than', count, 'signals')
print('full', flush=True)
time.sleep(60)
`
	const sandboxes = 9 // with more instances together than root may have by default
	for range sandboxes {
		sandbox := a.create(t, func(*yurt.SandboxSpec) {})
		filling := program(fill)
		if err := a.StartExecution(t.Context(), sandbox, filling); err != nil {
			t.Fatal(err)
		}
		waitFor(t, a, sandbox, filling.ID, "full\n")
	}
	if now := queuedSignals(t); now > before+1000 {
		t.Errorf("root had %d signals queued, and has %d", before, now)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Errorf("root has no instance of inotify left: %v", err)
	} else {
		unix.Close(fd)
	}
}

// queuedSignals returns how many signals are pending for processes of this user.
func queuedSignals(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "SigQ:\t")
	number, _, _ := strings.Cut(after, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("%v in %q", err, status)
	}
	return n
}
