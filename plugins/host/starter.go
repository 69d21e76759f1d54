package host

import (
	"os/exec"
	"runtime"
	"sync"
)

// starter starts processes that die with this one. Linux delivers the parent-death
// signal when the thread that forked ends, not the process, and Go ends threads: a
// goroutine that exits while locked to its thread takes it along. So everything is
// forked by one goroutine that holds its thread for as long as the children live.
type starter struct {
	requests chan startRequest
	stop     chan struct{}
	wg       sync.WaitGroup
}

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

func newStarter() *starter {
	s := &starter{requests: make(chan startRequest), stop: make(chan struct{})}
	s.wg.Go(s.run)
	return s
}

func (s *starter) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		select {
		case req := <-s.requests:
			req.done <- req.cmd.Start()
		case <-s.stop:
			return
		}
	}
}

// start is cmd.Start on the starter's thread.
func (s *starter) start(cmd *exec.Cmd) error {
	req := startRequest{cmd: cmd, done: make(chan error, 1)}
	select {
	case s.requests <- req:
		return <-req.done
	case <-s.stop:
		return errHostClosed
	}
}

// close ends the thread. Its children must be dead.
func (s *starter) close() {
	close(s.stop)
	s.wg.Wait()
}
