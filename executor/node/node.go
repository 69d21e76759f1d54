package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/cpuidle"
	"github.com/yurtrun/yurt/executor/demand"
	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/layers"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/notify"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/reserve"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/slots"
	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/plugins/host"
)

// SlotsDir, in the state directory, has the records of slots.
const SlotsDir = "slots"

// Config is the settings of a [Node]. All are given: the executor fills in the defaults.
type Config struct {
	Name             string // of the node
	StateDir, RunDir string // absolute paths of directories that exist and belong to this node alone
	HostPaths        []string
	AppArmorProfile  string
	SELinux          lsm.Labels
	MaxSandboxes     int
	MaxCreates       int
	MaxQueue         int
	MaxExecutions    int
	Packages         packages.Config
}

// Parts is the parts that a [Node] uses. The executor opens and closes them.
type Parts struct {
	Logger     *slog.Logger
	Launcher   *launch.Launcher
	Cgroups    *cgroup.Manager
	Runtimes   *host.Host
	Room       *headroom.Room // for writes that end something while the disk is full
	Disks      *headroom.Guard
	Layers     *layers.Store
	Images     *images.Store
	Processors *cpuidle.Processors // nil where they are not kept awake
}

// Node owns the sandboxes of one node. Its methods may be called concurrently.
type Node struct {
	config     Config
	logger     *slog.Logger
	launcher   *launch.Launcher
	cgroups    *cgroup.Manager
	runtimes   *host.Host
	room       *headroom.Room
	disks      *headroom.Guard
	filter     *os.File       // the compiled seccomp filter
	memory     *runlog.Memory // for the logs of executions
	ids        *idrange.Ranges
	layers     *layers.Store
	images     *images.Store
	installer  *packages.Installer
	processors *cpuidle.Processors

	starter      *start.Engine
	runs         *run.Engine
	kernels      *kernel.Engine
	adoptTimeout time.Duration

	creates   *admission.Queue // to make a sandbox
	adoptions chan struct{}    // holds one for each sandbox that is being adopted, while its init is not waited for
	teardowns chan struct{}    // holds one for each sandbox that is being removed

	mu        sync.Mutex
	sandboxes map[string]*Handle
	making    map[string]purpose             // sandboxes that are being made, or wait for that
	deaths    map[chan yurt.Sandbox]struct{} // watchers
	ahead     map[string]packages.Layers     // of templates whose packages were installed, by digest
	closed    bool

	reserves *reserve.Reserve[*Handle]
	slots    *slots.Set[*Handle]
	changes  *notify.Hub // notifies of the slot with an id, or of the whole node
	draining atomic.Bool // the node takes no new work
	demand   *demand.Counters
	begun    time.Time

	executions atomic.Int64 // that have not ended

	wait sync.WaitGroup // every goroutine that the node started
	ctx  context.Context
	stop context.CancelFunc
}

// maxLogMemory is how many bytes the logs of all executions together have in memory.
const maxLogMemory = 64 << 20

// New returns a node without sandboxes. Start comes next.
func New(config Config, p Parts) *Node {
	n := &Node{
		config: config, logger: p.Logger, launcher: p.Launcher, cgroups: p.Cgroups, runtimes: p.Runtimes, room: p.Room, disks: p.Disks,
		layers: p.Layers, images: p.Images, processors: p.Processors,
		memory: runlog.NewMemory(maxLogMemory), ids: idrange.New(),
		sandboxes: make(map[string]*Handle),
		making:    make(map[string]purpose),
		ahead:     make(map[string]packages.Layers),
		deaths:    make(map[chan yurt.Sandbox]struct{}),
		creates:   admission.NewQueue(config.MaxCreates),
		reserves:  reserve.New[*Handle](),
		changes:   notify.NewHub(), demand: demand.NewCounters(), begun: time.Now(), adoptTimeout: adoptTimeout,
		adoptions: make(chan struct{}, adoptions),
		teardowns: make(chan struct{}, teardowns),
	}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.addEngines()
	n.installer = packages.NewInstaller(n.ctx, config.Packages, n.layers, n.serve, n.carryOut)
	n.slots = slots.New(n.ctx, filepath.Join(config.StateDir, SlotsDir), slotNode{n}, n.room, n.logger)
	return n
}

// addEngines makes the parts below the node, the lowest first.
func (n *Node) addEngines() {
	n.starter = start.NewEngine(n.ctx, n.logger, n.runtimes, n.goes)
	n.runs = run.NewEngine(n.ctx, n.logger, n.runtimes, n.starter, n.goes)
	n.kernels = kernel.NewEngine(n.ctx, kernel.Parts{
		Logger: n.logger, Runtimes: n.runtimes, Starter: n.starter, Runs: n.runs, Planner: planner{n}, Go: n.goes,
	})
}

// Runs returns the engine of the executions on this node.
func (n *Node) Runs() *run.Engine { return n.runs }

// Kernels returns the engine of the contexts and functions on this node.
func (n *Node) Kernels() *kernel.Engine { return n.kernels }

// Start adopts the sandboxes that an earlier executor left in the directories. filter is the compiled seccomp filter, which stays
// open until the node is closed. No other method may be called before Start has returned. Start does not wait for a sandbox whose
// init is slow to answer: a call about that sandbox waits instead, except the call that ends it.
func (n *Node) Start(ctx context.Context, filter *os.File) error {
	n.filter = filter
	if err := n.readDraining(); err != nil {
		return err
	}
	if err := n.slots.Load(); err != nil {
		return err
	}
	if err := n.adoptAll(ctx); err != nil {
		return err
	}
	n.room.Take()
	return n.slots.Start()
}

// Close releases all that the node holds and leaves the sandboxes running.
func (n *Node) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.stop()
	n.wait.Wait()
	for _, s := range n.list() {
		s.Close()
	}
}

// isClosed reports whether Close has begun. It has before n.ctx is done, and that is before every context made from it is.
func (n *Node) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// serve starts a goroutine that Close waits for, unless it has begun to. It must end
// soon after n.ctx does.
func (n *Node) serve(do func()) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return sandbox.ErrShuttingDown()
	}
	n.wait.Go(do)
	return nil
}

// goes starts a goroutine that Close waits for; it must end when n.ctx does.
func (n *Node) goes(do func()) {
	n.wait.Go(do)
}

func (n *Node) list() []*Handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]*Handle, 0, len(n.sandboxes))
	for _, s := range n.sandboxes {
		list = append(list, s)
	}
	return list
}

// Find returns a sandbox of this node, once it is adopted.
func (n *Node) Find(ctx context.Context, id string) (*Handle, error) {
	s, err := n.lookUp(id)
	if err != nil || s.adoption == nil {
		return s, err
	}
	select {
	case <-s.adoption.done:
	case <-ctx.Done():
		if !s.IsReady() {
			return nil, fmt.Errorf("sandbox %s is being taken over, and its init has not answered yet: %w", id, ctx.Err())
		}
	}
	return s, s.adoption.err
}

// FindUsable returns a sandbox of this node that can be used.
func (n *Node) FindUsable(ctx context.Context, id string) (*Handle, error) {
	s, err := n.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return s, s.CheckUsable()
}

// lookUp returns a sandbox of this node, which may not be adopted yet.
func (n *Node) lookUp(id string) (*Handle, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.sandboxes[id]; s != nil {
		return s, nil
	}
	return nil, yurt.Errorf(yurt.CodeSandboxNotFound, "this node has no sandbox %s", id)
}
