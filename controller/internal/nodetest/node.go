package nodetest

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/local"
)

// Name is the node's name.
const Name = "fake"

// Node is a local.Executor. Its executions follow their code or the last argument of
// their command, word by word:
//
//	echo WORD   writes the word and a line end to stdout
//	warn WORD   the same to stderr
//	raw         writes bytes that are not UTF-8
//	env NAME    writes a variable
//	exit N      ends with an exit code
//	raise       ends with an error of the user's
//	block       waits for Release, or for the end of the sandbox
//	loop N      waits N milliseconds, for real, at most a second
//	read        writes the data on stdin, once, to stdout
//	trap        waits for a signal and writes its name
//
// A handler's result is its event. Unknown words are written as they are.
type Node struct {
	mu        sync.Mutex
	sandboxes map[string]*sandbox
	watchers  map[chan yurt.Sandbox]bool
	release   chan struct{}
	failNext  map[string]error // by method
	draining  bool
	forgotten []string
}

type sandbox struct {
	info  yurt.Sandbox
	spec  yurt.SandboxSpec
	files map[string]*file // by clean path; see files.go
	runs  map[string]*run
	gone  chan struct{}
}

var _ local.Executor = (*Node)(nil)

// New returns a node without sandboxes.
func New() *Node {
	return &Node{
		sandboxes: map[string]*sandbox{}, watchers: map[chan yurt.Sandbox]bool{},
		release: make(chan struct{}), failNext: map[string]error{},
	}
}

// Fail makes the next call of a method fail.
func (n *Node) Fail(method string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failNext[method] = err
}

// Release lets every execution go on that blocks now.
func (n *Node) Release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.release)
	n.release = make(chan struct{})
}

// SetDraining implements contract.Node.
func (n *Node) SetDraining(_ context.Context, draining bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.draining = draining
	return nil
}

// Capacity implements local.Executor. It says only whether the node is drained.
func (n *Node) Capacity(context.Context) (yurt.Capacity, error) {
	return yurt.Capacity{Node: Name, Draining: n.Draining()}, nil
}

// Draining reports the last argument of SetDraining.
func (n *Node) Draining() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.draining
}

// Count returns the number of sandboxes.
func (n *Node) Count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.sandboxes)
}

// Forgotten returns the executions that were forgotten.
func (n *Node) Forgotten() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.forgotten)
}

// Forget drops an execution although it may run, as a node that crashed would.
func (n *Node) Forget(sandboxID, executionID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sandboxes[sandboxID].runs, executionID)
}

// Spec returns the specification of a sandbox.
func (n *Node) Spec(sandboxID string) (yurt.SandboxSpec, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.sandboxes[sandboxID]
	if !ok {
		return yurt.SandboxSpec{}, false
	}
	return s.spec, true
}

// Kill ends a sandbox as the death of its init does: it stays, dead, and its watchers learn of it.
func (n *Node) Kill(sandboxID, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.sandboxes[sandboxID]
	if !ok || s.info.State == yurt.SandboxDead {
		return
	}
	s.info.State, s.info.Reason = yurt.SandboxDead, reason
	close(s.gone)
	for watcher := range n.watchers {
		watcher <- s.info
	}
}

func (n *Node) failure(method string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.failNext[method]
	delete(n.failNext, method)
	return err
}

// CreateSandbox implements local.Executor.
func (n *Node) CreateSandbox(_ context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	if err := n.failure("CreateSandbox"); err != nil {
		return yurt.Sandbox{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &sandbox{
		info: yurt.Sandbox{
			ID: spec.ID, Template: spec.Template.Name, Node: Name, State: yurt.SandboxReady,
			Labels: maps.Clone(spec.Labels), Phases: map[string]float64{"create": 1},
		},
		spec: spec, files: map[string]*file{}, runs: map[string]*run{}, gone: make(chan struct{}),
	}
	s.receive(spec.Files)
	n.sandboxes[spec.ID] = s
	return s.info, nil
}

func (n *Node) find(id string) (*sandbox, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.sandboxes[id]; ok {
		return s, nil
	}
	return nil, yurt.Errorf(yurt.CodeSandboxNotFound, "this node has no sandbox %s", id)
}

// Sandboxes implements contract.Node.
func (n *Node) Sandboxes(context.Context) ([]yurt.Sandbox, error) {
	if err := n.failure("Sandboxes"); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []yurt.Sandbox
	for _, s := range n.sandboxes {
		list = append(list, s.info)
	}
	return list, nil
}

// DestroySandbox implements contract.Node.
func (n *Node) DestroySandbox(_ context.Context, id string) error {
	if err := n.failure("DestroySandbox"); err != nil {
		return err
	}
	n.mu.Lock()
	s, ok := n.sandboxes[id]
	var runs []*run
	if ok {
		if s.info.State != yurt.SandboxDead {
			s.info.State = yurt.SandboxDead
			close(s.gone)
		}
		runs = slices.Collect(maps.Values(s.runs))
	}
	n.mu.Unlock()
	for _, r := range runs {
		<-r.done
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sandboxes, id)
	return nil
}

// WatchSandboxes implements contract.Node.
func (n *Node) WatchSandboxes(ctx context.Context, died func(yurt.Sandbox)) error {
	deaths := make(chan yurt.Sandbox, 64)
	n.mu.Lock()
	n.watchers[deaths] = true
	for _, s := range n.sandboxes {
		if s.info.State == yurt.SandboxDead {
			deaths <- s.info
		}
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.watchers, deaths)
	}()
	for {
		select {
		case dead := <-deaths:
			died(dead)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Runtimes implements contract.Node.
func (n *Node) Runtimes(context.Context) ([]yurt.RuntimeInfo, error) {
	return []yurt.RuntimeInfo{
		{Name: "node", Version: "22", Languages: []string{"javascript", "js"}, Extensions: []string{".js"}, Abilities: []string{"code"}},
		{Name: "python", Version: "3.12", Languages: []string{"python", "py"}, Extensions: []string{".py"}, Abilities: []string{"code", "handler"}, Kernels: []string{"ipykernel"}},
	}, nil
}

// Templates returns templates to test with: one without a runtime, with one, with
// two.
func Templates() []yurt.Template {
	template := func(name string, runtimes ...string) yurt.Template {
		return yurt.Template{
			Name: name, RootFS: yurt.RootFS{HostPaths: yurt.DefaultHostPaths()}, Runtimes: runtimes,
			Env: map[string]string{"FROM": "template"}, Resources: yurt.DefaultResources(),
			Isolation: yurt.Isolation{Level: yurt.IsolationNamespaces}, Network: yurt.Network{Mode: yurt.NetworkNone},
			Session: yurt.DefaultSessionLimits(),
		}
	}
	return []yurt.Template{template("shell-basic"), template("python-basic", "python"), template("polyglot", "python", "node"), template(yurt.DefaultTemplate, "node", "python")}
}

// Placer returns a placer over the node.
func (n *Node) Placer() contract.Placer { return local.New(Name, n, slog.New(slog.DiscardHandler)) }
