//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/pidfd"
)

// gate is the FIFO that a process which libcontainer has prepared opens for writing before it becomes yurt-init: it
// waits there for a reader. libcontainer would read only after it has ended the threads of a create, so that the
// process would be idle for half a millisecond. The launcher opens the gate meanwhile.
type gate struct {
	path  string
	early *time.Timer

	mu   sync.Mutex
	file *os.File
}

// openAfter is when a gate is opened: libcontainer makes it at the beginning of a create, and
// the process comes to it several milliseconds later. Where that is too early or too late, it
// is opened when it is to be passed.
const openAfter = 2 * time.Millisecond

// newGate returns the gate of a sandbox that is about to be started, in its directory.
func newGate(dir string) *gate {
	g := &gate{path: filepath.Join(dir, "exec.fifo")}
	g.early = time.AfterFunc(openAfter, func() { _ = g.open() }) // it is tried again
	return g
}

// open opens the gate, unless it is open. It does not wait for a writer.
func (g *gate) open() (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.file == nil {
		g.file, err = os.OpenFile(g.path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	}
	return err
}

// pass returns when the process, which libcontainer is done with, has passed the gate.
func (g *gate) pass(process *pidfd.File) error {
	if err := g.open(); err != nil {
		return fmt.Errorf("opening the way for yurt-init: %w", err)
	}
	poll := []unix.PollFd{{Fd: int32(g.file.Fd()), Events: unix.POLLIN}}
	for {
		ended := process.Ended() // which is asked first: it writes before it ends
		_, err := unix.Poll(poll, int(passInterval.Milliseconds()))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("waiting for yurt-init: %w", err)
		case poll[0].Revents&unix.POLLIN != 0:
			return nil
		case ended:
			return errors.New("the process ended before it was yurt-init")
		}
	}
}

// passInterval is how often the process is looked at that does not come.
const passInterval = 50 * time.Millisecond

func (g *gate) close() {
	g.early.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.file != nil {
		g.file.Close()
	}
}
