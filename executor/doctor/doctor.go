// Package doctor says of each mechanism that keeps sandboxes apart whether it is in force on this host, and the consequence
// where it is not. The command yurt doctor prints that, and Nomad's driver has it in the node's attributes. It only looks, makes
// no sandbox, and needs no executor; docs/SECURITY.md explains the layers.
package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/cgroup"
)

// State says whether a mechanism protects sandboxes on this host.
type State string

// The states of a finding.
const (
	InForce  State = "in_force"
	Degraded State = "degraded" // in force, less well than it could be
	Missing  State = "missing"
)

// Finding says of one mechanism whether it is in force here, and with which consequence.
type Finding struct {
	Mechanism   string `json:"mechanism"`
	State       State  `json:"state"`
	Detail      string `json:"detail"`
	Consequence string `json:"consequence"` // of its absence, or of its being in force less well
	Required    bool   `json:"required"`    // no sandbox is made without it
}

// Examine looks at the abilities of this host to isolate sandboxes. It changes no setting.
func Examine(context.Context) []Finding {
	findings := []Finding{checkRoot()}
	findings = append(findings, checkNamespaces()...)
	findings = append(findings, checkIdentity())
	findings = append(findings, checkFiles()...)
	findings = append(findings, checkPrivileges()...)
	findings = append(findings, checkSeccomp(), checkCgroups(), checkBudget(), checkSwap(), checkIO(), checkRunDir(), checkProcessors(), checkOOMScore(), checkOpenFiles())
	findings = append(findings, checkDisks()...)
	findings = append(findings, checkTimeNamespace(), checkKeyrings(), checkCoreDumps(), checkLandlock(), checkLSM(), checkLayer(), checkGVisor())
	return findings
}

func finding(mechanism string, ok bool, detail, consequence string) Finding {
	f := Finding{Mechanism: mechanism, State: InForce, Detail: detail, Consequence: consequence}
	if !ok {
		f.State = Missing
	}
	return f
}

func checkRoot() Finding {
	f := finding("root", os.Geteuid() == 0, fmt.Sprintf("running as uid %d", os.Geteuid()),
		"sandboxes cannot be set up; run yurt as root (user code inside never is)")
	f.Required = true
	if status, err := os.ReadFile("/proc/self/status"); f.State == InForce && (err != nil || !mayMount(string(status))) {
		f.State, f.Detail = Missing, "running as uid 0 without the capability CAP_SYS_ADMIN"
		f.Consequence = "sandboxes cannot be set up; run yurt outside of containers, or with all capabilities"
	}
	return f
}

// mayMount reports whether the effective capabilities in the text of /proc/PID/status hold
// that by which namespaces and mounts are made.
func mayMount(status string) bool {
	for line := range strings.Lines(status) {
		if set, ok := strings.CutPrefix(line, "CapEff:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			return err == nil && bits&(1<<unix.CAP_SYS_ADMIN) != 0
		}
	}
	return false
}

func checkNamespaces() []Finding {
	kinds := []struct{ name, file, what string }{
		{"user", "user", "root inside would be root outside"},
		{"pid", "pid", "processes would see and signal the host's"},
		{"network", "net", "sandboxes would reach the host's network"},
		{"mount", "mnt", "sandboxes would see the host's files"},
		{"ipc", "ipc", "sandboxes would share memory and queues with the host"},
		{"uts", "uts", "sandboxes would see and change the host's name"},
		{"cgroup", "cgroup", "sandboxes would see the host's cgroups"},
	}
	findings := make([]Finding, 0, len(kinds))
	for _, k := range kinds {
		_, err := os.Stat("/proc/self/ns/" + k.file)
		ok := err == nil
		detail := "the kernel has it"
		if !ok {
			detail = "the kernel has none"
		}
		if k.name == "user" {
			if limit, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil && strings.TrimSpace(string(limit)) == "0" {
				ok, detail = false, "user.max_user_namespaces is 0"
			}
		}
		f := finding(k.name+" namespace", ok, detail, "no sandbox is made: "+k.what)
		f.Required = true
		findings = append(findings, f)
	}
	return findings
}

func checkSeccomp() Finding {
	actions, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	f := finding("seccomp", err == nil && strings.Contains(string(actions), "kill_process"),
		"system call allow-list, native architecture only", "no sandbox is made: user code could use every system call")
	f.Required = true
	return f
}

func checkCgroups() Finding {
	manager, err := cgroup.Open("yurt-doctor")
	f := Finding{Mechanism: "cgroup limits", Required: true, Consequence: "no sandbox is made: its memory, CPU and processes could not be limited"}
	if err != nil {
		f.State, f.Detail = Missing, err.Error()
		return f
	}
	layout := "version 1, processes born in their run's groups by threads that enter them"
	if manager.Version() == 2 {
		layout = "version 2, processes born in their run's group by clone3"
	}
	f.State, f.Detail = InForce, fmt.Sprintf("memory, cpu and pids on cgroup v%d: %s", manager.Version(), layout)
	return f
}

func checkSwap() Finding {
	f := Finding{
		Mechanism: "swap limit", State: InForce,
		Consequence: "sandboxes are asked not to swap, which the kernel may disregard under pressure; boot with swapaccount=1",
	}
	swaps, err := os.ReadFile("/proc/swaps")
	if err == nil && strings.Count(string(swaps), "\n") <= 1 {
		f.Detail = "the host has no swap"
		return f
	}
	for _, pattern := range []string{"/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "/sys/fs/cgroup/*/memory.swap.max"} {
		if files, err := filepath.Glob(pattern); err == nil && len(files) > 0 {
			f.Detail = "swap counts towards the memory limit"
			return f
		}
	}
	f.State, f.Detail = Degraded, "the kernel does not account for swap"
	return f
}

func checkTimeNamespace() Finding {
	_, err := os.Stat("/proc/self/ns/time")
	detail := "clocks that count from the start of the host count from that of the sandbox"
	if err != nil {
		detail = "the kernel has none"
	}
	return finding("time namespace", err == nil, detail, "sandboxes see how long the host has been up")
}

func checkLandlock() Finding {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	detail := fmt.Sprintf("ABI %d", abi)
	if errno != 0 {
		detail = "the kernel has none"
	}
	f := finding("landlock", errno == 0 && abi >= 2, detail,
		"file access is confined by mounts and permissions alone, without this further layer; it takes Linux 5.19 with landlock among its security modules")
	if f.State == InForce && abi < 6 {
		f.State, f.Consequence = Degraded, "an older kernel's landlock confines less: devices' ioctls from ABI 5 on, signals from ABI 6 on"
	}
	return f
}

func checkGVisor() Finding {
	return Finding{
		Mechanism: "gVisor", State: Missing, Detail: "this version of Yurt has no level gvisor",
		Consequence: "sandboxes share the host's kernel: a flaw in the kernel can let code out",
	}
}
