package executor

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/openfiles"
	"github.com/yurtrun/yurt/executor/packages"
)

// Config is the settings of an [Executor].
type Config struct {
	StateDir     string // one executor at a time; made if it is not there
	RunDir       string // see [statedir.RunDir]; "" for [rundir.Default]
	NodeName     string // of this node
	Version      string // of the program, for those that find its directories later
	InitPath     string // the binary yurt-init
	LauncherPath string // the binary yurt-launcher
	UnpackerPath string // the binary yurt-unpack, which is needed for images alone
	FilesPath    string // the binary yurt-files
	PluginDir    string // language runtimes
	// RuntimeChecksums are the SHA-256 that the binaries of runtimes must have, by
	// name; nil means any.
	RuntimeChecksums map[string]string
	// RuntimeStart and RuntimeCall are how long a runtime may take to start, and for a
	// plan; 0 means [host.DefaultStartTimeout] and [host.DefaultCallTimeout].
	RuntimeStart, RuntimeCall time.Duration
	// HostPaths are the paths of the host that a template may bind, with all below them; nil
	// means [yurt.OfferedHostPaths].
	HostPaths []string
	// Tasks says that sandboxes may be tasks of Nomad, with files, devices and networks of the host.
	Tasks bool
	// AppArmorProfile and SELinux confine all processes of every sandbox, as the
	// host's policy says; the zero value for neither. The host must have the given profile and labels. Of
	// SELinux's, each sandbox has categories of its own, see [lsm.Labels.For].
	AppArmorProfile string
	SELinux         lsm.Labels
	// Transient ends every sandbox when the executor is gone, however it went.
	Transient bool
	// Bounds of the node at any time; 0 means a default. A request beyond one is
	// refused with [yurt.CodeOverloaded].
	MaxSandboxes  int // on the node; 1000, or for how many there are open files
	MaxCreates    int // sandboxes that are being made; twice the processors, at least 4
	MaxQueue      int // sandboxes that wait to be made; 256
	MaxExecutions int // that have not ended, on the node; 10,000
	All           budget.Bounds
	// StayAwake is how long processors are kept awake at most for each request that waits for a sandbox or an
	// execution, see [cpuidle]; 0 means not at all.
	StayAwake time.Duration
	// Latency is the open [cpuidle.Device] for that, which is the executor's from then on; nil for one that it opens itself.
	Latency  *os.File `json:"-"`
	Packages packages.Config
	Images   images.Config // the zero value takes none; Dir "" means in the state directory
	// Broker is the socket to the broker of the state directory, in the process that has started this one, which ends with it; nil for one in this process.
	Broker *net.UnixConn `json:"-"`
	Logger *slog.Logger  `json:"-"`
}

// check returns the configuration with its defaults and absolute paths, or the reason why this host cannot have it.
func (c Config) check() (Config, error) {
	given := c.MaxSandboxes != 0
	c = c.complete()
	var err error
	if c.MaxSandboxes, err = c.sandboxBound(given); err != nil {
		return c, err
	}
	return c.checkPower()
}

// checkPower is check for the part of the configuration that a broker has.
func (c Config) checkPower() (_ Config, err error) {
	c = c.completePower()
	if c.All, err = c.All.Complete(); err != nil {
		return c, err
	}
	for _, path := range []string{c.InitPath, c.LauncherPath, c.FilesPath} {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return c, yurt.Errorf(yurt.CodeSandboxFailed, "the program %q is missing; run make build, or install it beside yurt", path)
		}
	}
	if err := lsm.CheckLabels(c.AppArmorProfile, c.SELinux); err != nil {
		return c, err
	}
	if c.StateDir, err = filepath.Abs(c.StateDir); err != nil {
		return c, fmt.Errorf("finding the state directory: %w", err)
	}
	c.Packages = c.Packages.Complete(c.StateDir)
	return c, nil
}

// complete returns the configuration with defaults for the fields that are not set.
func (c Config) complete() Config {
	c.MaxSandboxes = cmp.Or(c.MaxSandboxes, defaultMaxSandboxes)
	c.MaxCreates = cmp.Or(c.MaxCreates, defaultMaxCreates())
	c.MaxQueue = cmp.Or(c.MaxQueue, defaultMaxQueue)
	c.MaxExecutions = cmp.Or(c.MaxExecutions, defaultMaxExecutions)
	return c.completePower()
}

// completePower is complete for the fields that a broker has.
func (c Config) completePower() Config {
	if c.HostPaths == nil {
		c.HostPaths = yurt.OfferedHostPaths()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// imagesDir is where unpacked images are.
func (c Config) imagesDir() string {
	return cmp.Or(c.Images.Dir, filepath.Join(c.StateDir, "images"))
}

// Default bounds of the work of a node at any time.
const (
	defaultMaxSandboxes  = 1000
	defaultMaxQueue      = 256
	defaultMaxExecutions = 10_000
)

// defaultMaxCreates keeps the processors busy with creates, and each of them quick.
func defaultMaxCreates() int { return max(4, 2*runtime.NumCPU()) }

// sandboxBound returns how many sandboxes there may be at once: as many as the configuration says, if
// the node's process may open enough files for them. It refuses a number that was given and is too
// large, and lowers one that is only the default. Without that the node would accept sandboxes and
// then fail in the middle of making them.
func (c Config) sandboxBound(given bool) (int, error) {
	limit, err := openfiles.Limit()
	if err != nil {
		return 0, err
	}
	return c.sandboxBoundBy(limit, given)
}

func (c Config) sandboxBoundBy(limit int, given bool) (int, error) {
	room := openfiles.Room(limit)
	switch {
	case c.MaxSandboxes <= room:
		return c.MaxSandboxes, nil
	case room == 0:
		return 0, yurt.Errorf(yurt.CodeSandboxFailed, "this process may have %d files open, and one sandbox takes up to %d; raise the hard limit (ulimit -Hn, or LimitNOFILE= of a systemd unit)",
			limit, openfiles.Needed(1))
	case given:
		return 0, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--max-sandboxes", "%d sandboxes take up to %d open files, and this process may have %d; raise the hard limit (ulimit -Hn, or LimitNOFILE= of a systemd unit), or give at most %d",
			c.MaxSandboxes, openfiles.Needed(c.MaxSandboxes), limit, room)
	}
	c.Logger.Warn("fewer sandboxes than the default, for want of open files", "max_sandboxes", room, "default", c.MaxSandboxes, "open_files", limit, "wanted", openfiles.Needed(c.MaxSandboxes))
	return room, nil
}
