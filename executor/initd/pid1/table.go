package pid1

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/yurtrun/yurt/executor/initd"
)

// maxProcesses bounds how many processes are known at once, ended ones that the
// host did not forget yet included.
const maxProcesses = 4096

// table is every process that the host started here and did not forget.
type table struct {
	forker  *forker
	buffers *sync.Pool
	live    atomic.Int64 // processes whose output is kept

	mu    sync.Mutex
	byID  map[string]*process
	byPID map[int]*process // running ones
}

func newTable(f *forker) *table {
	return &table{forker: f, buffers: newBuffers(), byID: make(map[string]*process), byPID: make(map[int]*process)}
}

// start starts a process. files are the descriptors of the request, see [initd.StartRequest].
func (t *table) start(req initd.StartRequest, files []*os.File) (*process, error) {
	if err := req.Validate(); err != nil {
		return nil, refusal(initd.ReasonBadRequest, err)
	}
	var given [3]*os.File
	for i, has := range []bool{req.HasStdin, req.HasStdout, req.HasStderr} {
		if !has {
			continue
		}
		if len(files) == 0 {
			return nil, refusal(initd.ReasonBadRequest, fmt.Errorf("descriptor %d of %s did not come along", i, req.ID))
		}
		given[i], files = files[0], files[1:]
	}
	p, stdio, err := newProcess(req, given, t.buffers, t.room)
	if err != nil {
		return nil, refusal(initd.ReasonFork, err)
	}
	defer stdio.close()
	for t.reap() { // an ended process counts until it is reaped
	}
	start := t.fork
	if req.From != "" {
		start = t.forkFrom
	}
	if err := start(p, req, stdio, files); err != nil {
		p.discard()
		return nil, err
	}
	p.pump()
	if err := p.becomes(); err != nil {
		t.drop(p)
		return nil, forkError(req, err)
	}
	return p, nil
}

// drop takes a process that has not become its command out of the table. Its end,
// as any other's, is the reaper's.
func (t *table) drop(p *process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, p.id)
	t.live.Add(-1)
	p.release()
}

// fork holds the lock until the process is in the table, so that its end, which
// the reaper may see at once, finds it there.
func (t *table) fork(p *process, req initd.StartRequest, stdio *childFiles, leaves []*os.File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.admits(req.ID); err != nil {
		return err
	}
	c, err := t.forker.fork(req, stdio.fds(), leaves)
	if err != nil {
		return err
	}
	t.enter(p, c)
	return nil
}

// admits says why there cannot be another process. The lock is held.
func (t *table) admits(id string) error {
	if t.byID[id] != nil {
		return refusal(initd.ReasonBadRequest, fmt.Errorf("process %s exists already", id))
	}
	if len(t.byID) >= maxProcesses {
		return refusal(initd.ReasonFork, fmt.Errorf("%d processes exist already", maxProcesses))
	}
	return nil
}

// enter makes the process known. The lock is held.
func (t *table) enter(p *process, c child) {
	p.child = c
	t.byID[p.id], t.byPID[c.pid] = p, p
	t.live.Add(1)
}

// room returns how much output each process may keep.
func (t *table) room() int {
	return int(min(max(maxKept/max(t.live.Load(), 1), minUnacked), maxUnacked))
}

// reap takes note of one child that has ended, and reports whether there was one.
// It holds the lock from before the kernel gives the number free until the table has
// forgotten it: a new process may get the same number at once.
func (t *table) reap() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if errors.Is(err, syscall.EINTR) {
		return true
	}
	if pid <= 0 || err != nil {
		return false
	}
	if p := t.byPID[pid]; p != nil { // an orphan is in no table
		delete(t.byPID, pid)
		go p.finish(p.ended(status))
	}
	return true
}

func (t *table) find(id string) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.byID[id]; p != nil {
		return p, nil
	}
	return nil, refusal(initd.ReasonNotFound, fmt.Errorf("no process %s", id))
}

// forget drops an ended process.
func (t *table) forget(id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.byID[id]
	if p == nil {
		return refusal(initd.ReasonNotFound, fmt.Errorf("no process %s", id))
	}
	if t.byPID[p.pid] == p {
		return refusal(initd.ReasonBadRequest, fmt.Errorf("process %s is running", id))
	}
	delete(t.byID, id)
	t.live.Add(-1)
	p.release()
	return nil
}

// signal sends a signal to the process and its group, or to the process alone, while it is
// certain that the number is still its own.
func (t *table) signal(req initd.SignalRequest) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.byID[req.ID]
	if p == nil || t.byPID[p.pid] != p {
		return refusal(initd.ReasonNotFound, fmt.Errorf("no running process %s", req.ID))
	}
	signal := syscall.Signal(req.Signal)
	var err error
	switch {
	case !req.Alone:
		err = syscall.Kill(-p.pid, signal)
	case p.report != nil:
		err = signalKept(p.report, signal)
	default:
		err = syscall.Kill(p.pid, signal)
	}
	if err != nil {
		return refusal(initd.ReasonFork, fmt.Errorf("signalling %s: %w", req.ID, err))
	}
	return nil
}
