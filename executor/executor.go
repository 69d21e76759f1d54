package executor

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/yurtrun/yurt/executor/output"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/reserve"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/slots"
	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/flock"
	"github.com/yurtrun/yurt/plugins/host"
)

// Config is what an [Executor] needs.
type Config struct {
	StateDir     string // one executor at a time; made if it is not there
	RunDir       string // see [RunDir]; "" for [rundir.Default]
	Node         string // name of this node
	Version      string // of the program, for those that find its directories later
	InitPath     string // the binary yurt-init
	LauncherPath string // the binary yurt-launcher
	PluginDir    string // language runtimes
	// RuntimeChecksums are the SHA-256 that the binaries of runtimes must have, by
	// name; nil means any.
	RuntimeChecksums map[string]string
	// RuntimeStart and RuntimeCall are how long a runtime may take to start, and for a
	// plan; 0 means [host.DefaultStartTimeout] and [host.DefaultCallTimeout].
	RuntimeStart, RuntimeCall time.Duration
	// HostPaths are what of the host a template may bind, with all below it; nil
	// means [yurt.OfferedHostPaths].
	HostPaths []string
	// AppArmorProfile and SELinux confine all processes of every sandbox, as the
	// host's policy says; the zero value for neither. The host must have what is given. Of
	// SELinux's, each sandbox has categories of its own, see [lsm.Labels.For].
	AppArmorProfile string
	SELinux         lsm.Labels
	// Transient ends every sandbox when the executor is gone, however it went.
	Transient bool
	// Bounds of what there is at once; 0 means a default. What would be beyond one is
	// refused with [yurt.CodeOverloaded].
	MaxSandboxes  int // on the node; 1000, or for how many there are open files
	MaxCreates    int // sandboxes that are being made; twice the processors, at least 4
	MaxQueue      int // sandboxes that wait to be made; 256
	MaxExecutions int // that have not ended, on the node; 10,000
	// StayAwake is how long processors are kept awake at most for each request that waits for a sandbox or an
	// execution, see [cpuidle]; 0 means not at all.
	StayAwake time.Duration
	Packages  packages.Config
	Images    images.Config // the zero value takes none; Dir "" means in the state directory
	Logger    *slog.Logger  `json:"-"`
}

// complete returns the configuration with the defaults for what it lacks.
func (c Config) complete() Config {
	c.MaxSandboxes = cmp.Or(c.MaxSandboxes, defaultMaxSandboxes)
	c.MaxCreates = cmp.Or(c.MaxCreates, defaultMaxCreates())
	c.MaxQueue = cmp.Or(c.MaxQueue, defaultMaxQueue)
	c.MaxExecutions = cmp.Or(c.MaxExecutions, defaultMaxExecutions)
	if c.HostPaths == nil {
		c.HostPaths = yurt.OfferedHostPaths()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Executor is the owner of a node's sandboxes.
type Executor struct {
	config    Config
	logger    *slog.Logger
	launcher  *launch.Launcher
	cgroups   *cgroup.Manager
	runtimes  *host.Host
	lock      *os.File
	runDir    string         // see [RunDir]
	room      *headroom.Room // for what ends something while the disk is full
	filter    *os.File       // the compiled seccomp filter
	memory    *runlog.Memory // for the logs of executions
	results   *output.Budget // for results that are assembled
	ids       *idrange.Ranges
	layers    *layers.Store
	images    *images.Store
	installer *packages.Installer

	starter      *start.Engine
	runs         *run.Engine
	kernels      *kernel.Engine
	adoptTimeout time.Duration

	creates    *admission.Queue    // to make a sandbox
	adoptions  chan struct{}       // holds one for each sandbox that is being taken over, while its init is not waited for
	teardowns  chan struct{}       // holds one for each sandbox that is being removed
	processors *cpuidle.Processors // nil where they are not kept awake

	mu        sync.Mutex
	sandboxes map[string]*handle
	making    map[string]purpose             // sandboxes that are being made, or wait for that
	deaths    map[chan yurt.Sandbox]struct{} // watchers
	ahead     map[string]packages.Layers     // of templates whose packages were installed, by digest
	closed    bool

	reserves *reserve.Reserve[*handle]
	slots    *slots.Set[*handle]
	changes  *notify.Hub // ring under the id of the slot that changes, or for the whole node
	draining atomic.Bool // nothing new comes here
	demand   *demand.Counters
	begun    time.Time

	watches    atomic.Int64 // of files, that go on
	executions atomic.Int64 // that have not ended

	wait sync.WaitGroup // every goroutine that the executor started
	ctx  context.Context
	stop context.CancelFunc
}

// New returns an executor on the state directory, which it locks. Start comes next.
func New(config Config) (*Executor, error) {
	given := config.MaxSandboxes != 0
	config = config.complete()
	sandboxes, err := config.sandboxBound(given)
	if err != nil {
		return nil, err
	}
	config.MaxSandboxes = sandboxes
	for _, path := range []string{config.InitPath, config.LauncherPath} {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return nil, yurt.Errorf(yurt.CodeSandboxFailed, "the program %q is missing; run make build, or install it beside yurt", path)
		}
	}
	if err := lsm.CheckLabels(config.AppArmorProfile, config.SELinux); err != nil {
		return nil, err
	}
	state, err := filepath.Abs(config.StateDir)
	if err != nil {
		return nil, fmt.Errorf("finding the state directory: %w", err)
	}
	config.StateDir = state
	config.Packages = config.Packages.Complete(state)
	runDir, err := rundir.Path(config.RunDir, CgroupName(state))
	if err != nil {
		return nil, err
	}
	groups, err := cgroup.Open(CgroupName(state))
	if err != nil {
		return nil, err
	}
	newRoom(config).Give() // the disk may be full; Start takes it again
	lock, err := takeDirs(config, runDir)
	if err != nil {
		return nil, err
	}
	store, containerImages, err := openStores(config)
	if err != nil {
		return nil, errors.Join(err, rundir.Remove(runDir), lock.Close())
	}
	e := &Executor{
		layers: store, images: containerImages, room: newRoom(config),
		config: config, logger: config.Logger, cgroups: groups, lock: lock, runDir: runDir, memory: runlog.NewMemory(maxLogMemory), results: output.NewBudget(output.DefaultBudget), ids: idrange.New(),
		launcher: launch.New(config.LauncherPath, config.InitPath, filepath.Join(state, "launcher.lock"), config.Transient, config.Logger),
		runtimes: host.New(config.PluginDir, config.Logger, host.WithChecksums(config.RuntimeChecksums), host.WithTempDir(filepath.Join(runDir, rundir.Plugins)),
			host.WithStartTimeout(cmp.Or(config.RuntimeStart, host.DefaultStartTimeout)),
			host.WithCallTimeout(cmp.Or(config.RuntimeCall, host.DefaultCallTimeout))),
		sandboxes: make(map[string]*handle),
		making:    make(map[string]purpose),
		ahead:     make(map[string]packages.Layers),
		creates:   admission.NewQueue(config.MaxCreates),
		reserves:  reserve.New[*handle](),
		changes:   notify.NewHub(), demand: demand.NewCounters(), begun: time.Now(), adoptTimeout: adoptTimeout,
		deaths:     make(map[chan yurt.Sandbox]struct{}),
		adoptions:  make(chan struct{}, adoptions),
		teardowns:  make(chan struct{}, teardowns),
		processors: openProcessors(config),
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.addEngines()
	e.installer = packages.NewInstaller(e.ctx, config.Packages, store, e.serve, e.carryOut)
	e.slots = slots.New(e.ctx, filepath.Join(state, "slots"), slotNode{e}, e.room, config.Logger)
	return e, nil
}

// addEngines makes the parts below the executor, the lowest first.
func (e *Executor) addEngines() {
	e.starter = start.NewEngine(e.ctx, e.logger, e.runtimes, e.goes)
	e.runs = run.NewEngine(e.ctx, e.logger, e.runtimes, e.starter, e.goes)
	e.kernels = kernel.NewEngine(e.ctx, kernel.Parts{
		Logger: e.logger, Runtimes: e.runtimes, Starter: e.starter, Runs: e.runs, Planner: planner{e}, Go: e.goes,
	})
}

// openProcessors returns nil where processors may sleep, or the kernel cannot keep them awake.
func openProcessors(config Config) *cpuidle.Processors {
	if config.StayAwake <= 0 {
		return nil
	}
	processors, err := cpuidle.Open(config.StayAwake, config.Logger)
	if err != nil {
		config.Logger.Debug("processors cannot be kept awake", "error", err)
		return nil
	}
	return processors
}

// maxLogMemory is how many bytes of the logs of executions are in memory, of all together.
const maxLogMemory = 64 << 20

// takeDirs makes the directories of an executor and makes sure that they are ours alone, and
// that no version has been there which this one does not know.
func takeDirs(config Config, runDir string) (*os.File, error) {
	lock, err := lockState(config.StateDir)
	if err != nil {
		return nil, err
	}
	if err := layOut(config, runDir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// layOut makes what is in the directories, and writes down how they are laid out.
func layOut(config Config, runDir string) error {
	if err := records.CheckFormat(config.StateDir, config.Version); err != nil {
		return err
	}
	for _, name := range []string{rundir.Sandboxes, "slots"} {
		if err := os.MkdirAll(filepath.Join(config.StateDir, name), 0o700); err != nil {
			return fmt.Errorf("making the state directory: %w", err)
		}
	}
	if err := rundir.Make(runDir, config.StateDir, config.Version); err != nil {
		return err
	}
	if config.Transient {
		return nil // nothing is left for others to find
	}
	return errors.Join(records.WriteFormat(config.StateDir, config.Version), records.WriteFormat(runDir, config.Version))
}

// lockState makes the state directory and locks it.
func lockState(dir string) (*os.File, error) {
	if os.Geteuid() != 0 {
		return nil, yurt.Errorf(yurt.CodeSandboxFailed, "sandboxes need root to be set up; run yurt as root (user code inside never is)")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the state directory: %w", err)
	}
	if err := flock.Take(lock, lockPatience); err != nil {
		err = yurt.Errorf(yurt.CodeUnavailable, "another yurt uses the state directory %s; stop it or give another directory", dir)
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// lockPatience is how long an executor that was killed may take to be gone.
const lockPatience = 3 * time.Second

// Start readies the executor and takes over what an earlier one left in the state
// directory. No other method may be called before it has returned. Sandboxes whose init is slow
// to answer it does not wait for: what is asked of one waits then, but not its end.
func (e *Executor) Start(ctx context.Context) error {
	program, err := e.launcher.Filter(ctx)
	if err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "compiling the seccomp filter: %w", err)
	}
	if e.filter, err = descriptor.Sealed("yurt-seccomp", program); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "keeping the seccomp filter: %w", err)
	}
	if _, err := e.runtimes.Discover(ctx); err != nil {
		return fmt.Errorf("looking for language runtimes: %w", err)
	}
	if err := e.readDraining(); err != nil {
		return err
	}
	if err := e.slots.Load(); err != nil {
		return err
	}
	if err := e.adoptAll(ctx); err != nil {
		return err
	}
	e.room.Take()
	return e.slots.Start()
}

// Close lets go of everything and leaves the sandboxes running, unless they are
// transient, for the next executor on the same state directory.
func (e *Executor) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop()
	e.wait.Wait()
	for _, s := range e.list() {
		s.Close()
	}
	e.runtimes.Close()
	err := e.launcher.Close()
	if e.filter != nil {
		err = errors.Join(err, e.filter.Close())
	}
	e.cgroups.RemoveParent()
	return errors.Join(err, rundir.Remove(e.runDir), e.layers.Close(), e.images.Close(), e.processors.Close(), e.room.Close(), e.lock.Close())
}

// isClosed reports whether Close has begun. It has before e.ctx is done, and that is before
// every context made from it is.
func (e *Executor) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// Runtimes lists the language runtimes that are installed and work.
func (e *Executor) Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
	return e.runtimes.Runtimes(ctx)
}

// serve starts a goroutine that Close waits for, unless it has begun to. It must end
// soon after e.ctx does.
func (e *Executor) serve(do func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return sandbox.ErrShuttingDown()
	}
	e.wait.Go(do)
	return nil
}

// goes starts a goroutine that Close waits for; it must end when e.ctx does.
func (e *Executor) goes(do func()) {
	e.wait.Go(do)
}

func (e *Executor) list() []*handle {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]*handle, 0, len(e.sandboxes))
	for _, s := range e.sandboxes {
		list = append(list, s)
	}
	return list
}

// find returns a sandbox of this node, once it has been taken over.
func (e *Executor) find(ctx context.Context, id string) (*handle, error) {
	s, err := e.lookUp(id)
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

// lookUp returns a sandbox of this node, which may not be taken over yet.
func (e *Executor) lookUp(id string) (*handle, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sandboxes[id]; s != nil {
		return s, nil
	}
	return nil, yurt.Errorf(yurt.CodeSandboxNotFound, "this node has no sandbox %s", id)
}
