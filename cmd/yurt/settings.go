package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/serverlog"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/cpuidle"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/rundir"
)

// serves makes cmd a server, whose flags are settings. check refuses values that cannot be, and starts no part of the server.
func (a *app) serves(cmd *cobra.Command, check func() error, serve func(ctx context.Context) error) {
	config.AddFile(cmd.Flags())
	config.Reloadable(cmd.Flags(), "log-level")
	a.servers[cmd.Name()] = check
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if a.settings, err = config.Read(cmd.Flags(), a.Getenv); err != nil {
			return err
		}
		return a.settings.Explain(serve(cmd.Context()))
	}
}

// reloads are the parts of a server that take over changes while it runs.
type reloads struct {
	settings map[string]func(text string) error // by the name of a setting in a file
	also     func(ctx context.Context) error    // takes over more than settings; may be nil
}

// reload returns a task that takes over changed settings on SIGHUP. A server whose terminal is gone ends by that signal.
func (a *app) reload(command string, logger *slog.Logger, log *serverlog.Flags, server reloads) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGHUP)
		defer signal.Stop(told)
		reload := a.takesOver(command, logger, log, server)
		if reload.Run(ctx, told) {
			signal.Stop(told)
			return syscall.Kill(os.Getpid(), syscall.SIGHUP)
		}
		return nil
	}
}

// takesOver returns how a server takes over changed settings.
func (a *app) takesOver(command string, logger *slog.Logger, log *serverlog.Flags, server reloads) *config.Reload {
	settings := map[string]func(string) error{"log_level": log.Set}
	maps.Copy(settings, server.settings)
	read := func() (*config.Settings, error) {
		fresh := &app{App: &cli.App{Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr, Getenv: a.Getenv, AsRoot: a.AsRoot, Args: a.Args}}
		flags, check, err := fresh.servers.Flags(newRootCommand(fresh), command, a.Args)
		if err != nil {
			return nil, err
		}
		settings, err := config.Read(flags, a.Getenv)
		if err != nil {
			return nil, err
		}
		return settings, settings.Explain(check())
	}
	return &config.Reload{Read: read, Apply: settings, Also: server.also, Ends: a.hangupEnds(), Log: logger, Current: a.settings}
}

// hangupEnds returns a function that reports whether SIGHUP ends this process. It is the broker that ends by it, with its executor.
func (a *app) hangupEnds() func() bool {
	if a.executor != nil {
		return func() bool { return false }
	}
	return a.terminalEnds()
}

// terminalEnds returns a function that reports whether the terminal that the program was started at is gone.
func (a *app) terminalEnds() func() bool {
	terminal, ok := a.Stdin.(*os.File)
	if !ok || !isatty.IsTerminal(terminal.Fd()) {
		return func() bool { return false }
	}
	return func() bool { return !isatty.IsTerminal(terminal.Fd()) }
}

func newConfigCommand(a *app) *cobra.Command {
	return cli.Parent("config", "Write, check and show the settings of a server", cli.GroupHost, config.Commands(config.Terminal{
		Servers: a.servers, Getenv: a.Getenv, JSON: func() bool { return a.JSON }, PrintJSON: a.PrintJSON, PrintTable: a.PrintTable, Printf: a.Printf,
	})...)
}

// nodeFlags are the settings of the owner of sandboxes, in every command the same.
type nodeFlags struct {
	log                                         serverlog.Flags
	tasks                                       bool // of Nomad come to the node
	stateDir, runDir                            string
	maxSandboxes, maxCreates, maxQueue, maxRuns int
	totalMemory                                 string
	totalPIDs                                   int
	overcommit                                  float64
	checksums                                   string
	appArmor                                    string
	seLinux                                     lsm.Labels
	stayAwake                                   time.Duration
	packages                                    packageFlags
	images                                      imageFlags
}

func (f *nodeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.stateDir, "state-dir", "", "the directory for lasting and large files: slots, packages, workspaces on disk (default: /var/lib/yurt for root)")
	flags.StringVar(&f.runDir, "run-dir", "", "the directory, best in memory, for files that need not outlive a reboot: records of sandboxes, and the first part of each log (default: "+rundir.Default+")")
	f.log.Add(flags)
	flags.IntVar(&f.maxSandboxes, "max-sandboxes", 0, "how many sandboxes may exist at once, each of which takes up to 12 open files (default: 1000, or fewer where the limit of open files is low)")
	flags.IntVar(&f.maxCreates, "max-creates", 0, "how many sandboxes may be made at once (default: twice the processors, at least 4)")
	flags.IntVar(&f.maxQueue, "max-queue", 0, "how many sandboxes may wait to be made; more are refused (default: 256)")
	flags.IntVar(&f.maxRuns, "max-executions", 0, "how many executions may run at once (default: 10000)")
	flags.StringVar(&f.totalMemory, "total-memory", "", "how much memory all sandboxes together may take, such as 20Gi (default: the host's, but for a sixteenth and at least 512Mi)")
	flags.IntVar(&f.totalPIDs, "total-pids", 0, "how many processes and threads all sandboxes together may have (default: three quarters of those that the kernel can have)")
	flags.Float64Var(&f.overcommit, "memory-overcommit", 0, "how many times --total-memory the memory limits of all sandboxes may add up to; more sandboxes are refused (default: 4)")
	flags.DurationVar(&f.stayAwake, "stay-awake", 0, "keep the processors of the host awake for up to this long while a request waits for a sandbox or an execution, such as 25ms: answers come sooner and take more power (default: off)")
	flags.StringVar(&f.appArmor, "apparmor-profile", "", "the AppArmor profile that confines every sandbox; it must be loaded (default: none)")
	flags.StringVar(&f.seLinux.Process, "selinux-label", "", "the SELinux label that confines every sandbox, such as system_u:system_r:container_t:s0; each gets categories of its own (default: none)")
	flags.StringVar(&f.seLinux.Files, "selinux-file-label", "", "with --selinux-label: the label of files that a sandbox may write to, such as system_u:object_r:container_file_t:s0")
	f.packages.add(flags)
	f.images.add(flags)
	flags.StringVar(&f.checksums, "runtime-checksums", "", "a file in the format of sha256sum that lists the language runtimes that may start (default: all in the plugin directory may)")
}

// complete fills in the defaults and refuses invalid flags.
func (f *nodeFlags) complete(a *app) (err error) {
	if f.stateDir == "" {
		if f.stateDir, err = a.StateDir(); err != nil {
			return err
		}
	}
	for _, bound := range []struct {
		flag  string
		value int
	}{{"--max-sandboxes", f.maxSandboxes}, {"--max-creates", f.maxCreates}, {"--max-queue", f.maxQueue}, {"--max-executions", f.maxRuns}} {
		if bound.value < 0 {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, bound.flag, "%d is out of range; give 1 or more, or nothing for the default", bound.value)
		}
	}
	if f.stayAwake < 0 || f.stayAwake > maxStayAwake {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--stay-awake", "%s is out of range; give up to %s, or 0 to let processors sleep", f.stayAwake, maxStayAwake)
	}
	_, packages := f.packages.config(a)
	_, images := f.images.config()
	_, memory := f.memory()
	return errors.Join(packages, images, memory)
}

// memory is that of all sandboxes together; 0 for the default.
func (f *nodeFlags) memory() (size yurt.Size, err error) {
	if f.totalMemory != "" {
		err = cli.ParseFlag("--total-memory", f.totalMemory, yurt.ParseSize, &size)
	}
	return size, err
}

// openLatency opens the device that keeps processors awake; nil where they may sleep, or the kernel cannot keep them awake.
func (f *nodeFlags) openLatency(logger *slog.Logger) *os.File {
	if f.stayAwake <= 0 {
		return nil
	}
	device, err := cpuidle.OpenDevice()
	if err != nil {
		logger.Debug("processors cannot be kept awake", "error", err)
		return nil
	}
	return device
}

// maxStayAwake lets processors sleep while requests wait for long executions.
const maxStayAwake = time.Second

// config is that of the node that the settings describe.
func (f *nodeFlags) config(a *app, logger *slog.Logger, node string) (executor.Config, error) {
	c, err := nodeConfig(f.stateDir, logger)
	if err != nil {
		return c, err
	}
	if c.RuntimeChecksums, err = a.readChecksums(f.checksums); err != nil {
		return c, err
	}
	if c.Packages, err = f.packages.config(a); err != nil {
		return c, err
	}
	memory, err := f.memory()
	if err != nil {
		return c, err
	}
	if c.Images, err = f.images.config(); err != nil {
		return c, err
	}
	c.RunDir, c.NodeName, c.StayAwake, c.Tasks = f.runDir, node, f.stayAwake, f.tasks
	c.MaxSandboxes, c.MaxCreates, c.MaxQueue, c.MaxExecutions = f.maxSandboxes, f.maxCreates, f.maxQueue, f.maxRuns
	c.All = budget.Bounds{Memory: memory, PIDs: f.totalPIDs, Overcommit: f.overcommit}
	c.AppArmorProfile, c.SELinux = f.appArmor, f.seLinux
	if a.executor != nil {
		c.Broker, c.Latency = a.executor.Socket, a.executor.Latency()
	}
	return c, nil
}
