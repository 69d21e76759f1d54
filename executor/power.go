package executor

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/broker/child"
	"github.com/yurtrun/yurt/executor/broker/wire"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/statedir"
)

// Power is the part of a node that needs power over the host: its broker, and the lock on its state directory. It outlives the executors
// that ask it.
type Power struct {
	Broker *broker.Local
	Lock   *os.File // of the state directory; no other broker can have the directory while this file or a copy of it is open
}

// OpenPower locks the state directory of the configuration, and returns the broker for it. It fails if another has the directory. The caller
// calls Close.
func OpenPower(config Config) (*Power, error) {
	config, err := config.checkPower()
	if err != nil {
		return nil, err
	}
	runDir, err := rundir.Path(config.RunDir, statedir.CgroupName(config.StateDir))
	if err != nil {
		return nil, err
	}
	groups, err := config.openCgroups()
	if err != nil {
		return nil, err
	}
	if err := CheckRoot(); err != nil {
		return nil, err
	}
	lock, err := statedir.Take(config.StateDir)
	if err != nil {
		return nil, err
	}
	return &Power{Lock: lock, Broker: broker.NewLocal(broker.Config{
		Launcher: launch.New(config.LauncherPath, config.InitPath, filepath.Join(config.StateDir, statedir.LauncherLock), config.Transient, config.Logger),
		Cgroups:  groups, LayersDir: config.Packages.Dir, ImagesDir: config.imagesDir(), HostPaths: config.HostPaths, Tasks: config.Tasks, Dirs: statedir.Dirs{State: config.StateDir, Run: runDir},
		Programs:        programs.Config{PluginDir: config.PluginDir, Checksums: config.RuntimeChecksums, Unpacker: config.UnpackerPath, ImagesDir: config.imagesDir()},
		AppArmorProfile: config.AppArmorProfile, SELinux: config.SELinux, Logger: config.Logger,
	})}, nil
}

// openCgroups finds the cgroups of the node, whose sandboxes have the bounds of the configuration.
func (c Config) openCgroups() (*cgroup.Manager, error) {
	groups, err := cgroup.Open(statedir.CgroupName(c.StateDir))
	if err != nil {
		return nil, err
	}
	groups.BoundAll(cgroup.All{Memory: int64(c.All.Memory), PIDs: c.All.PIDs})
	return groups, nil
}

// Prepare readies the broker, so that the first sandbox waits for less.
func (p *Power) Prepare(ctx context.Context) error { return p.Broker.Prepare(ctx) }

// Close ends the broker and gives the state directory back. Sandboxes that are not transient go on.
func (p *Power) Close() error { return errors.Join(p.Broker.Close(), p.Lock.Close()) }

// brokerage is the broker as an executor reaches it.
type brokerage struct {
	broker.Broker
	power *Power // nil where the broker is another process
}

// reachBroker returns the broker at the other end of the socket, or one in this process.
func (c Config) reachBroker(groups *cgroup.Manager) (brokerage, error) {
	if c.Broker != nil {
		return brokerage{Broker: wire.NewClient(c.Broker, groups, child.End)}, nil
	}
	power, err := OpenPower(c)
	if err != nil {
		return brokerage{}, err
	}
	return brokerage{Broker: power.Broker, power: power}, nil
}

// prepare readies a broker in this process.
func (b brokerage) prepare(ctx context.Context) error {
	if b.power == nil {
		return nil
	}
	return b.power.Prepare(ctx)
}

// close ends a broker in this process, or the connection to another.
func (b brokerage) close() error {
	if client, ok := b.Broker.(*wire.Client); ok {
		return client.Close()
	}
	return b.power.Close()
}

// CheckRoot returns an error in a process that is not root, and can have no broker.
func CheckRoot() error {
	if os.Geteuid() != 0 {
		return yurt.Errorf(yurt.CodeSandboxFailed, "sandboxes need root to be set up; run yurt as root (user code inside never is)")
	}
	return nil
}
