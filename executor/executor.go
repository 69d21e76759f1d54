package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/cpuidle"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/executor/trees"
	"github.com/yurtrun/yurt/plugins/host"
)

// Executor is a node with its directories, and with the operations on the contents of each sandbox: files, executions, contexts
// and processes.
type Executor struct {
	*node.Node // sandboxes and slots: create, claim, adopt, destroy

	logger     *slog.Logger
	config     Config
	broker     brokerage
	groups     *cgroup.Manager
	runtimes   *host.Host
	runDir     string         // see [statedir.RunDir]
	room       *headroom.Room // for writes that end something while the disk is full
	disks      *headroom.Guard
	layers     *trees.Store
	images     *images.Store
	processors *cpuidle.Processors // nil where they are not kept awake

	files   *files.Client // of the process that serves files of sandboxes
	watches atomic.Int64  // of files, that go on
}

// New returns an executor on the state directory. Without a socket to the broker of that directory it opens one in this process, which
// must be root then. Start comes next.
func New(config Config) (*Executor, error) {
	config, err := config.check()
	if err != nil {
		return nil, err
	}
	runDir, err := rundir.Path(config.RunDir, statedir.CgroupName(config.StateDir))
	if err != nil {
		return nil, err
	}
	groups, err := openCgroups(config)
	if err != nil {
		return nil, err
	}
	e := &Executor{config: config, logger: config.Logger, groups: groups, runDir: runDir, room: statedir.NewRoom(config.StateDir, config.Transient)}
	if e.broker, err = reachBroker(config, groups); err != nil {
		return nil, err
	}
	statedir.NewRoom(config.StateDir, config.Transient).Give() // the disk may be full; Start takes it again
	if err := statedir.Begin(config.StateDir, runDir, config.Version, config.Transient); err != nil {
		return nil, errors.Join(err, e.broker.close())
	}
	if err := openParts(e); err != nil {
		return nil, errors.Join(err, e.broker.close())
	}
	e.Node = node.New(nodeConfig(config, runDir), node.Parts{
		Logger: e.logger, Broker: e.broker, Cgroups: groups, Runtimes: e.runtimes, Room: e.room, Disks: e.disks,
		Files: e.files, Layers: e.layers, Images: e.images, Processors: e.processors,
	})
	return e, nil
}

// openParts opens the parts below the node.
func openParts(e *Executor) (err error) {
	if e.layers, e.images, err = openStores(e.config, e.broker); err != nil {
		return err
	}
	e.disks = &headroom.Guard{Node: e.config.NodeName, Room: e.room, RunDir: e.runDir, Logger: e.logger}
	e.runtimes, e.processors = newRuntimes(e.config, e.runDir, e.broker), openProcessors(e.config)
	e.files = files.NewClient(programs.FileServers{By: e.broker, Logger: e.logger}.Connect)
	return nil
}

// newRuntimes returns the host of the language runtimes, which the broker starts. It checks their binaries too.
func newRuntimes(config Config, runDir string, by programs.Requests) *host.Host {
	options := []host.Option{
		host.WithConfinement(programs.Runtimes{By: by}), host.WithTempDir(filepath.Join(runDir, rundir.Plugins)),
		host.WithStartTimeout(cmp.Or(config.RuntimeStart, host.DefaultStartTimeout)),
		host.WithCallTimeout(cmp.Or(config.RuntimeCall, host.DefaultCallTimeout)),
	}
	if config.RuntimeChecksums == nil { // with them, a start alone shows whether the broker lets a binary run
		options = append(options, host.WithDescriptions())
	}
	return host.New(config.PluginDir, config.Logger, options...)
}

// nodeConfig returns the settings that the node has of the configuration.
func nodeConfig(c Config, runDir string) node.Config {
	return node.Config{
		Name: c.NodeName, StateDir: c.StateDir, RunDir: runDir, Dirs: statedir.Dirs{State: c.StateDir, Run: runDir}, HostPaths: c.HostPaths,
		MaxSandboxes: c.MaxSandboxes, MaxCreates: c.MaxCreates, MaxQueue: c.MaxQueue, MaxExecutions: c.MaxExecutions, All: c.All, Packages: c.Packages,
	}
}

// openStores opens the stores that sandboxes share: layers of packages, and images.
func openStores(config Config, by broker.Broker) (*trees.Store, *images.Store, error) {
	packages, err := config.Packages.OpenStore()
	if err != nil {
		return nil, nil, err
	}
	c := config.Images
	c.Dir = config.imagesDir()
	c.Logger, c.Programs, c.Files = config.Logger, programs.Unpackers{By: by}, by
	images, err := images.Open(c)
	return packages, images, err
}

// openProcessors returns nil where processors may sleep, or the kernel cannot keep them awake.
func openProcessors(config Config) *cpuidle.Processors {
	if config.StayAwake <= 0 {
		return nil
	}
	device := config.Latency
	if device == nil && config.Broker != nil {
		return nil // the broker could not open it
	}
	if device == nil {
		var err error
		if device, err = cpuidle.OpenDevice(); err != nil {
			config.Logger.Debug("processors cannot be kept awake", "error", err)
			return nil
		}
	}
	return cpuidle.Open(device, config.StayAwake, config.Logger)
}

// Start readies the executor and adopts the sandboxes that an earlier one left in the state directory, see [node.Node.Start].
func (e *Executor) Start(ctx context.Context) error {
	if err := e.broker.prepare(ctx); err != nil {
		return err
	}
	e.files.Prepare()
	if _, err := e.runtimes.Discover(ctx); err != nil {
		return fmt.Errorf("looking for language runtimes: %w", err)
	}
	return e.Node.Start(ctx)
}

// Close releases all that the executor holds and leaves the sandboxes running, unless they are
// transient, for the next executor on the same state directory.
func (e *Executor) Close() error {
	e.Node.Close()
	e.runtimes.Close()
	err := errors.Join(e.files.Close(), e.images.Close())
	return errors.Join(err, e.layers.Close(), e.processors.Close(), e.room.Close(), e.broker.close())
}

// Runtimes lists the language runtimes that are installed and work.
func (e *Executor) Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
	return e.runtimes.Runtimes(ctx)
}

// findRun returns an execution that the node knows, and its sandbox.
func findRun(ctx context.Context, of *node.Node, sandboxID, executionID string) (*node.Handle, *run.Run, error) {
	s, err := of.Find(ctx, sandboxID)
	if err != nil {
		return nil, nil, err
	}
	r := s.Find(executionID)
	if r == nil {
		return nil, nil, run.NotFound(executionID)
	}
	return s, r, nil
}
