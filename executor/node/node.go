package node

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/cpuidle"
	"github.com/yurtrun/yurt/executor/demand"
	"github.com/yurtrun/yurt/executor/figures"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/notify"
	"github.com/yurtrun/yurt/executor/output"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/reserve"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/slots"
	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/executor/trees"
	"github.com/yurtrun/yurt/plugins/host"
)

// Config is the settings of a [Node]. All are given: the executor fills in the defaults.
type Config struct {
	Name             string // of the node
	StateDir, RunDir string // absolute paths of directories that exist and belong to this node alone
	Dirs             broker.Dirs
	HostPaths        []string
	MaxSandboxes     int
	MaxCreates       int
	MaxQueue         int
	MaxExecutions    int
	All              budget.Bounds
	Packages         packages.Config
}

// Parts is the parts that a [Node] uses. The executor opens and closes them.
type Parts struct {
	Logger     *slog.Logger
	Broker     broker.Broker
	Cgroups    Cgroups
	Runtimes   *host.Host
	Room       *headroom.Room // for writes that end something while the disk is full
	Disks      *headroom.Guard
	Files      *files.Client // opens directories of sandboxes
	Layers     *trees.Store
	Images     *images.Store
	Processors *cpuidle.Processors // nil where they are not kept awake
}

// Cgroups reads the cgroups of this node. Changes go through the broker.
type Cgroups interface {
	Names() ([]string, error)
	Version() int
	CheckIO() error // whether this host can hold a limit of disk time
}

// Node owns the sandboxes of one node. Its methods may be called concurrently.
type Node struct {
	*claims      // hand out sandboxes that are ready
	*slotBook    // keeps sandboxes ready in slots
	*dispatcher  // begins executions
	*provisioner // installs dependency layers

	config     Config
	logger     *slog.Logger
	runtimes   *host.Host
	room       *headroom.Room
	disks      *headroom.Guard
	broker     broker.Broker
	cgroups    Cgroups
	memory     *runlog.Memory // for the logs of executions
	results    *output.Budget // for results that are assembled
	ids        *idrange.Ranges
	files      *files.Client
	layers     *trees.Store
	images     *images.Store
	processors *cpuidle.Processors

	starter *start.Engine
	runs    *run.Engine
	kernels *kernel.Engine

	table    *table
	adopter  *adopter
	admitter *admitter
	roots    *roots
	warmer   *warmer
	planner  *planner
	drain    *drain
	promises sync.Mutex // held while memory is promised to a sandbox; before the locks of the table and of slots
	deaths   deaths

	creates   *admission.Queue // to make a sandbox
	teardowns chan struct{}    // holds one for each sandbox that is being removed

	reserves *reserve.Reserve[*Handle]
	slots    *slots.Set[*Handle]
	changes  *notify.Hub // notifies of the slot with an id, or of the whole node
	demand   *demand.Counters
	begun    time.Time

	executions atomic.Int64 // that have not ended
	figures    *figures.Figures
}

// maxLogMemory is how many bytes the logs of all executions together have in memory.
const maxLogMemory = 64 << 20

// New returns a node without sandboxes. Start comes next.
func New(config Config, p Parts) *Node {
	creates := admission.NewQueue(config.MaxCreates)
	n := &Node{
		config: config, logger: p.Logger, runtimes: p.Runtimes, room: p.Room, disks: p.Disks, broker: p.Broker, cgroups: p.Cgroups,
		files: p.Files, layers: p.Layers, images: p.Images, processors: p.Processors,
		memory: runlog.NewMemory(maxLogMemory), results: output.NewBudget(output.DefaultBudget), ids: idrange.New(), begun: time.Now(),
		creates: creates, teardowns: make(chan struct{}, teardowns),
		reserves: reserve.New[*Handle](), changes: notify.NewHub(), demand: demand.NewCounters(), figures: figures.New(),
		table:    newTable(config, creates.Displace),
		admitter: &admitter{stateDir: config.StateDir, cgroups: p.Cgroups, all: config.All},
		roots:    &roots{hostPaths: config.HostPaths, packages: config.Packages, images: p.Images, runtimes: p.Runtimes, logger: p.Logger},
	}
	n.addEngines()
	n.drain = &drain{path: filepath.Join(config.StateDir, statedir.Draining), changes: n.changes}
	n.warmer = &warmer{ctx: n.table.ctx, logger: n.logger, runtimes: n.runtimes, starter: n.starter, kernels: n.kernels, goes: n.table.goes}
	n.adopter = newAdopter(n)
	n.claims, n.slotBook, n.dispatcher, n.provisioner = &claims{n}, &slotBook{n}, &dispatcher{n}, newProvisioner(n)
	n.slots = slots.New(n.table.ctx, filepath.Join(config.StateDir, statedir.Slots), slotNode{n}, n.room, n.logger)
	return n
}

// addEngines makes the parts below the node, the lowest first.
func (n *Node) addEngines() {
	ctx, goes := n.table.ctx, n.table.goes
	n.starter = start.NewEngine(ctx, n.logger, n.runtimes, goes)
	n.runs = run.NewEngine(ctx, n.logger, n.runtimes, n.starter, goes)
	n.planner = &planner{packages: n.config.Packages, runtimes: n.runtimes, runs: n.runs}
	n.kernels = kernel.NewEngine(ctx, kernel.Parts{
		Logger: n.logger, Runtimes: n.runtimes, Starter: n.starter, Runs: n.runs, Planner: n.planner, Go: goes,
	})
}

// Runs returns the engine of the executions on this node.
func (n *Node) Runs() *run.Engine { return n.runs }

// Kernels returns the engine of the contexts and functions on this node.
func (n *Node) Kernels() *kernel.Engine { return n.kernels }

// Start adopts the sandboxes that an earlier executor left in the directories. No other method may be called before Start has returned. Start does not wait for a sandbox whose
// init is slow to answer: a call about that sandbox waits instead, except the call that ends it.
func (n *Node) Start(ctx context.Context) error {
	if err := n.drain.read(); err != nil {
		return err
	}
	if err := n.slots.Load(); err != nil {
		return err
	}
	if err := n.adopter.adoptAll(ctx); err != nil {
		return err
	}
	n.room.Take()
	return n.slots.Start()
}

// Close releases all that the node holds and leaves the sandboxes running.
func (n *Node) Close() {
	n.table.close()
	for _, s := range n.table.list() {
		s.Close()
	}
}

// Find returns a sandbox of this node, once it is adopted.
func (n *Node) Find(ctx context.Context, id string) (*Handle, error) {
	s, err := n.table.lookUp(id)
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
