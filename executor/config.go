package executor

import (
	"cmp"
	"log/slog"
	"runtime"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/packages"
)

// Config holds the settings of an [Executor].
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
	// HostPaths are the paths of the host that a template may bind, with all below them; nil means [yurt.OfferedHostPaths].
	HostPaths []string
	// AppArmorProfile and SELinux confine all processes of every sandbox by the host's policy; the zero values confine
	// none. The host must know the profile or the type. Each sandbox has its own categories of SELinux, see
	// [lsm.Labels.For].
	AppArmorProfile string
	SELinux         lsm.Labels
	// Transient ends every sandbox when the executor is gone, however it went.
	Transient bool
	// Bounds of concurrent work; 0 means a default. A request beyond a bound is refused with [yurt.CodeOverloaded].
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

// complete returns the configuration with defaults for its zero values.
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

// Defaults of the node's bounds.
const (
	defaultMaxSandboxes  = 1000
	defaultMaxQueue      = 256
	defaultMaxExecutions = 10_000
)

// defaultMaxCreates keeps the processors busy with creates, and each of them quick.
func defaultMaxCreates() int { return max(4, 2*runtime.NumCPU()) }
