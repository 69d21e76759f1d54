package main

import (
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/sysmon"
	"github.com/yurtrun/yurt/internal/linux/oomscore"
	"github.com/yurtrun/yurt/internal/memlimit"
)

// settingsHelp ends the help of the commands whose flags are settings.
const settingsHelp = `

Each flag can also be given as an environment variable: --max-queue is YURT_MAX_QUEUE. The
flag wins over the variable.`

// readSettings sets the flags that were not given from the environment.
func (a *app) readSettings(flags *pflag.FlagSet) error {
	var failure error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "YURT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := a.env(name, "")
		if f.Name == "help" || f.Changed || value == "" || failure != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failure = yurt.FieldErrorf(yurt.CodeInvalidArgument, name, "%q is no value for it; give what --%s takes", value, f.Name)
		}
	})
	return failure
}

// outliveSandboxes has the kernel end other processes than a server of a node, when memory is short.
func outliveSandboxes(logger *slog.Logger) {
	if err := oomscore.Lower(oomscore.Service); err != nil {
		logger.Debug("the kernel spares this server no more than others when memory is short", "error", err)
	}
}

// outliveReaders keeps a server alive that prints to a pipe without a reader: the end of the process that started the server is no
// reason to leave its sandboxes. A signal that is notified, unlike one that is ignored, has its default action in child processes.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// slackenMonitor is for servers, see [sysmon].
func slackenMonitor(logger *slog.Logger) {
	if err := sysmon.Slacken(); err != nil {
		logger.Debug("the runtime's monitor wakes up as often as it does", "error", err)
	}
}

// limitMemory is for servers, see [memlimit].
func limitMemory(logger *slog.Logger) {
	goal, err := memlimit.Set()
	switch {
	case err != nil:
		logger.Warn("the memory of this process follows no limit", "error", err)
	case goal > 0:
		logger.Info("memory follows the limit of the cgroup", "goal", yurt.Size(goal).String())
	}
}

// nodeFlags are the settings of the owner of sandboxes, in every command the same.
type nodeFlags struct {
	log                                         logFlags
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
	f.log.add(flags)
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
		if f.stateDir, err = a.stateDir(); err != nil {
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
	return nil
}

// maxStayAwake lets processors sleep while requests wait for long executions.
const maxStayAwake = time.Second

// executor makes the executor that the settings describe.
func (f *nodeFlags) executor(a *app, logger *slog.Logger, node string) (*executor.Executor, error) {
	checksums, err := a.readChecksums(f.checksums)
	if err != nil {
		return nil, err
	}
	packages, err := f.packages.config(a)
	if err != nil {
		return nil, err
	}
	var memory yurt.Size
	if f.totalMemory != "" {
		if err := parseFlag("--total-memory", f.totalMemory, yurt.ParseSize, &memory); err != nil {
			return nil, err
		}
	}
	containerImages, err := f.images.config()
	if err != nil {
		return nil, err
	}
	return newExecutor(f.stateDir, logger, func(c *executor.Config) {
		c.Packages, c.RunDir, c.Images = packages, f.runDir, containerImages
		c.Node, c.MaxSandboxes, c.MaxCreates, c.MaxQueue, c.MaxExecutions = node, f.maxSandboxes, f.maxCreates, f.maxQueue, f.maxRuns
		c.All = budget.Bounds{Memory: memory, PIDs: f.totalPIDs, Overcommit: f.overcommit}
		c.RuntimeChecksums = checksums
		c.StayAwake = f.stayAwake
		c.AppArmorProfile, c.SELinux = f.appArmor, f.seLinux
	})
}
