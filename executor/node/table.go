package node

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/start"
)

// How long a caller waits before it tries again, by the limit that refused it.
const (
	retrySandboxes = 5 * time.Second
	retryQueue     = time.Second
)

// table is the sandboxes of a node, those that are being made included, and the node's goroutines.
type table struct {
	maxSandboxes, maxCreates, maxQueue int

	displace func(share string) bool // makes a caller of another share leave the full queue

	mu        sync.Mutex
	sandboxes map[string]*Handle
	making    map[string]createOptions // sandboxes that are being made, or wait for that
	closed    bool

	wait sync.WaitGroup // every goroutine of the node, and every create
	ctx  context.Context
	stop context.CancelFunc
}

func newTable(config Config, displace func(share string) bool) *table {
	t := &table{
		maxSandboxes: config.MaxSandboxes, maxCreates: config.MaxCreates, maxQueue: config.MaxQueue, displace: displace,
		sandboxes: make(map[string]*Handle), making: make(map[string]createOptions),
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// close ends the context of the node, and returns when every goroutine has ended.
func (t *table) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.stop()
	t.wait.Wait()
}

// isClosed reports whether close has begun. It has before t.ctx is done, and that is before every context made from it is.
func (t *table) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// serve starts a goroutine that close waits for, unless it has begun to. The goroutine must end soon after t.ctx does.
func (t *table) serve(do func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return sandbox.ErrShuttingDown()
	}
	t.wait.Go(do)
	return nil
}

// goes starts a goroutine that close waits for. The goroutine must end when t.ctx does.
func (t *table) goes(do func()) { t.wait.Go(do) }

// begin enters a sandbox that is about to be made, unless it is one too many. In a full queue the share with the most callers makes
// room for one with fewer. A slot was granted to be filled, so its
// sandbox waits however long the queue is. The caller calls end.
func (t *table) begin(id string, options createOptions) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, making := t.making[id]
	switch waiting := t.waiting(); {
	case t.closed:
		return sandbox.ErrShuttingDown()
	case making || t.sandboxes[id] != nil:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "sandbox %s exists already", id)
	case len(t.sandboxes)+len(t.making) >= t.maxSandboxes:
		return admission.Overloaded(retrySandboxes, "this node has %d sandboxes, as many as it may; try again when some have ended", t.maxSandboxes)
	case waiting >= t.maxQueue && options.slot == nil && !t.displace(options.share):
		return queueFull(waiting)
	}
	t.making[id] = options
	t.wait.Add(1)
	return nil
}

func queueFull(waiting int) error {
	return admission.Overloaded(retryQueue, "%d sandboxes wait to be made on this node, as many as may; try again in a moment", waiting)
}

// end says that a sandbox is not being made any more.
func (t *table) end(id string) {
	t.mu.Lock()
	delete(t.making, id)
	t.mu.Unlock()
	t.wait.Done()
}

// waiting counts the sandboxes that callers wait for beyond those that are made at once. The lock is held.
func (t *table) waiting() int {
	asked := 0
	for _, options := range t.making {
		if options.slot == nil {
			asked++
		}
	}
	return asked - t.maxCreates
}

// add enters a sandbox, and starts the goroutines that go with it.
func (t *table) add(s *Handle, entered func(), goroutines ...func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return sandbox.ErrShuttingDown()
	}
	t.sandboxes[s.ID()] = s
	entered()
	for _, do := range goroutines {
		t.wait.Go(do)
	}
	return nil
}

// remove removes a sandbox of which neither processes nor files are left.
func (t *table) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sandboxes, id)
}

// list returns every sandbox.
func (t *table) list() []*Handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*Handle, 0, len(t.sandboxes))
	for _, s := range t.sandboxes {
		list = append(list, s)
	}
	return list
}

// all returns every sandbox, and those that are being made, at one moment.
func (t *table) all() ([]*Handle, map[string]createOptions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.sandboxes)), maps.Clone(t.making)
}

// lookUp returns a sandbox, which may not be adopted yet.
func (t *table) lookUp(id string) (*Handle, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sandboxes[id]; s != nil {
		return s, nil
	}
	return nil, yurt.Errorf(yurt.CodeSandboxNotFound, "this node has no sandbox %s", id)
}

// Handle is a sandbox of this node with all that the executor keeps of it while it lives.
type Handle struct {
	*kernel.Sandbox

	slot     *slot         // that it is in; may be nil
	adoption *adoption     // nil for one that this executor made
	taken    atomic.Bool   // it has an owner, or is about to have one
	claimed  atomic.Int64  // bytes of memory that a claim was promised, before the record has them
	removed  chan struct{} // closed when the last of it is removed
	installs packages.Quota
}

func (n *Node) newHandle(record sandbox.Record, in *slot) *Handle {
	s := &Handle{
		Sandbox: kernel.NewSandbox(run.NewSandbox(start.NewSandbox(sandbox.New(record, n.broker, n.files, n.config.Dirs), n.cgroups.Version()), run.Node{
			Memory: n.memory, Executions: &n.executions, MaxExecutions: int64(n.config.MaxExecutions), Results: n.results, Messages: kernel.NewMessages,
		})),
		slot: in, removed: make(chan struct{}),
	}
	s.taken.Store(!record.Warm)
	return s
}

// SetTaken says whether the sandbox has an owner.
func (s *Handle) SetTaken(taken bool) { s.taken.Store(taken) }

// IsReady reports whether the sandbox can be claimed, as far as the node is done with taking it over.
func (s *Handle) IsReady() bool {
	if s.adoption == nil {
		return true
	}
	select {
	case <-s.adoption.done:
		return true
	default:
		return false
	}
}

// IsTaken reports whether the sandbox has an owner, or is about to have one.
func (s *Handle) IsTaken() bool { return s.taken.Load() }

// slotID returns the ID of the sandbox's slot, "" without a slot.
func (s *Handle) slotID() string {
	if s.slot == nil {
		return ""
	}
	return s.slot.Spec.ID
}
