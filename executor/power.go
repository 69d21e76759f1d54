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
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/imagefiles"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/statedir"
)

// Power is the part of a node that needs power over the host: its broker, the lock on its state directory, and its runtime directory. It outlives
// the executors that ask it.
type Power struct {
	Broker *broker.Local
	Lock   *os.File // of the state directory; no other broker can have the directory while this file or a copy of it is open

	runDir, version string
	stateDir        *os.File
}

// OpenPower locks the state directory of the configuration, and returns the broker for it. It fails if another has the directory. The directories
// and stores become those of the executors' user, see [idrange.Executor]. The caller calls Close.
func OpenPower(config Config) (*Power, error) { return config.openPower(idrange.Executor) }

// openPower is OpenPower for executors of that user.
func (c Config) openPower(user int) (*Power, error) {
	config, err := c.checkPower()
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
	if err := CheckRoot(); err != nil {
		return nil, err
	}
	lock, err := statedir.Take(config.StateDir)
	if err != nil {
		return nil, err
	}
	dirs := statedir.Dirs{State: config.StateDir, Run: runDir}
	if err := config.layOut(runDir, user); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if dirs.Open, err = os.Open(config.StateDir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	power := &Power{Lock: lock, runDir: runDir, version: config.Version, stateDir: dirs.Open, Broker: broker.NewLocal(broker.Config{
		Launcher: launch.New(config.LauncherPath, config.InitPath, filepath.Join(config.StateDir, statedir.LauncherLock), config.Transient, config.Logger),
		Cgroups:  groups, LayersDir: config.Packages.Dir, ImagesDir: config.imagesDir(), HostPaths: config.HostPaths, Tasks: config.Tasks, Dirs: dirs,
		Programs:        programs.Config{PluginDir: config.PluginDir, Checksums: config.RuntimeChecksums, Unpacker: config.UnpackerPath, Files: config.FilesPath, ImagesDir: config.imagesDir()},
		ImageFiles:      imagefiles.Files{Layouts: config.Images.Layouts, Credentials: config.Images.AuthFile},
		AppArmorProfile: config.AppArmorProfile, SELinux: config.SELinux, User: user, Logger: config.Logger,
	})}
	if err := power.Broker.Reclaim(); err != nil { // which takes room, and no more than that
		config.Logger.Warn("trees of unpackers that were killed are left", "error", err)
	}
	return power, nil
}

// layOut makes the directories and stores, for executors of that user.
func (c Config) layOut(runDir string, user int) error {
	if err := statedir.LayOut(c.StateDir, runDir, c.Version, c.Transient, user); err != nil || user == os.Geteuid() {
		return err
	}
	return errors.Join(statedir.GiveStore(c.Packages.Dir, user), statedir.GiveStore(c.imagesDir(), user))
}

// openCgroups finds the cgroups of the node, whose sandboxes have the bounds of the configuration.
func openCgroups(c Config) (*cgroup.Manager, error) {
	groups, err := cgroup.Open(statedir.CgroupName(c.StateDir))
	if err != nil {
		return nil, err
	}
	groups.BoundAll(cgroup.All{Memory: int64(c.All.Memory), PIDs: c.All.PIDs})
	return groups, nil
}

// Prepare readies the broker, so that the first sandbox waits for less.
func (p *Power) Prepare(ctx context.Context) error { return p.Broker.Prepare(ctx) }

// Close ends the broker, removes the runtime directory if there are no sandboxes, and gives the state directory back. Sandboxes that are not transient
// go on.
func (p *Power) Close() error {
	return errors.Join(p.Broker.Close(), rundir.Remove(p.runDir, p.version), p.stateDir.Close(), p.Lock.Close())
}

// brokerage is the broker as an executor reaches it.
type brokerage struct {
	broker.Broker
	power *Power // nil where the broker is another process
}

// reachBroker returns the broker at the other end of the socket, or one in this process.
func reachBroker(c Config, groups *cgroup.Manager) (brokerage, error) {
	if c.Broker != nil {
		return brokerage{Broker: wire.NewClient(c.Broker, groups, child.End)}, nil
	}
	power, err := c.openPower(os.Geteuid())
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
