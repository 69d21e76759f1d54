package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/cpuidle"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/openfiles"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/internal/linux/oomscore"
)

// checkIO is about shares of disks' time, for templates that ask for one.
func checkIO() Finding {
	const none = "templates with an io_weight are refused; a sandbox can take all of a disk's time"
	manager, err := cgroup.Open("yurt-doctor")
	if err == nil {
		err = manager.CheckIO()
	}
	if err != nil {
		return Finding{Mechanism: "io weight", State: Missing, Detail: firstLine(err), Consequence: none}
	}
	if disks := weighingDisks(); len(disks) > 0 {
		return Finding{Mechanism: "io weight", State: InForce, Detail: "scheduler bfq on " + strings.Join(disks, ", "), Consequence: none}
	}
	return Finding{
		Mechanism: "io weight", State: Degraded, Detail: "the controller is there, and no disk's scheduler is bfq",
		Consequence: "weights are set and only count for disks that have a cost model (io.cost.qos); set the scheduler of a disk to bfq in /sys/block/DISK/queue/scheduler",
	}
}

// weighingDisks returns the disks whose scheduler heeds weights.
func weighingDisks() []string {
	var disks []string
	// The pattern is well-formed, which is all that could be wrong.
	files, _ := filepath.Glob("/sys/block/*/queue/scheduler")
	for _, path := range files {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "[bfq]") {
			disks = append(disks, filepath.Base(filepath.Dir(filepath.Dir(path))))
		}
	}
	return disks
}

// checkRunDir says whether the records of sandboxes cost writes to a disk.
func checkRunDir() Finding {
	f := Finding{
		Mechanism: "runtime directory", State: InForce, Detail: rundir.Default + " is in memory",
		Consequence: "sandboxes and executions take longer to start; give yurt executor --run-dir a directory in memory, as /dev/shm, or mount a tmpfs on " + rundir.Default,
	}
	if !rundir.InMemory(rundir.Default) {
		f.State, f.Detail = Degraded, rundir.Default+" is on a disk"
	}
	return f
}

// checkOOMScore says whether servers can be spared when the host has no memory left.
func checkOOMScore() Finding {
	return finding("memory shortage", oomscore.MayLower(), "the kernel ends processes of sandboxes first (oom_score_adj 1000), and servers of the node late (-900)",
		"the kernel ends processes of sandboxes first, and servers of the node like other programs; give yurt executor CAP_SYS_RESOURCE")
}

// checkBudget says how much of the host all sandboxes together may take.
func checkBudget() Finding {
	bounds, err := budget.Bounds{}.Complete()
	f := finding("all sandboxes together", err == nil,
		fmt.Sprintf("%s of memory and %d processes at most, unless yurt executor --total-memory and --total-pids say otherwise; limits of sandboxes may add up to %s (--memory-overcommit)", bounds.Memory, bounds.PIDs, bounds.Promisable()),
		"no sandbox is made: all of them together could take the whole host")
	f.Required = true
	if err != nil {
		f.Detail = err.Error()
	}
	return f
}

// checkProcessors says whether the kernel can keep processors awake.
func checkProcessors() Finding {
	file, err := os.OpenFile(cpuidle.Device, os.O_WRONLY, 0) // an open alone changes no setting
	if err == nil {
		file.Close()
	}
	return finding("processors stay awake", err == nil, "PM QoS, where yurt executor --stay-awake asks for it",
		"yurt executor --stay-awake has no effect: the kernel has no PM QoS, or this is a container without "+cpuidle.Device)
}

// ordinarySandboxes is the default limit of sandboxes on a node.
const ordinarySandboxes = 1000

// checkOpenFiles says for how many sandboxes there are open files.
func checkOpenFiles() Finding {
	f := Finding{
		Mechanism: "open files", State: InForce,
		Consequence: fmt.Sprintf("the node has fewer sandboxes than %d; raise the hard limit to %d (ulimit -Hn, or LimitNOFILE= of a systemd unit)", ordinarySandboxes, openfiles.Needed(ordinarySandboxes)),
	}
	limit, err := openfiles.Limit()
	if err != nil {
		f.State, f.Detail = Missing, err.Error()
		return f
	}
	f.Detail = fmt.Sprintf("%d a process, enough for %d sandboxes", limit, openfiles.Room(limit))
	switch room := openfiles.Room(limit); {
	case room == 0:
		f.State, f.Required = Missing, true
	case room < ordinarySandboxes:
		f.State = Degraded
	}
	return f
}

// checkDisks says which mechanisms bound the writes of a sandbox.
func checkDisks() []Finding {
	memory := finding("disk limit in memory", true,
		"disk_kind memory, the default: sized file systems in memory, which count towards the memory limit and end with the host's power",
		"a sandbox could fill the node's memory with files")
	images := finding("disk limit by image", true, "disk_kind image: a file system in a file of the node's disk",
		"templates with disk_kind \"image\" are refused; no workspace can be larger than memory, but by project quota")
	if err := disk.Check(); err != nil {
		images.State, images.Detail = Missing, firstLine(err)
	}
	return []Finding{memory, images, checkQuotas()}
}

// checkQuotas says where a state directory could have workspaces that project quotas bound.
func checkQuotas() Finding {
	var places []string
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("ext4", "xfs"))
	for _, m := range mounts {
		if disk.CheckQuota(m.Mountpoint) == nil {
			places = append(places, m.Mountpoint)
		}
	}
	detail := "disk_kind quota: for state directories on " + strings.Join(places, ", ")
	if err != nil || len(places) == 0 {
		detail = "no file system of this host enforces any"
	}
	return finding("project quota", err == nil && len(places) > 0, detail,
		"templates with disk_kind \"quota\" are refused; images take their place, or a state directory on ext4 or XFS that is mounted with prjquota")
}

func checkKeyrings() Finding {
	detail := "a session keyring for each sandbox, and no call to use any"
	if _, err := os.Stat("/proc/sys/kernel/keys"); err != nil {
		detail = "the kernel has no keyrings to share"
	}
	return finding("keyring", true, detail, "code could use keys of whoever started the executor, and fill the kernel's store of them")
}

// checkCoreDumps names the program that would get the memory of a crashed process.
func checkCoreDumps() Finding {
	f := finding("core dumps", true, "none are made", "what a process had in memory when it crashed would be written to a disk, or handed to a program of the host's")
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err == nil && strings.HasPrefix(string(pattern), "|") {
		f.Detail = "none are made: the host's handler (" + strings.TrimSpace(string(pattern[1:])) + ") is not started for sandboxes"
	}
	return f
}

// checkLSM says which labels this host could enforce; the operator chooses those in use.
func checkLSM() Finding {
	f := Finding{
		Mechanism: "mandatory access control", State: Missing, Detail: "the host has neither AppArmor nor SELinux",
		Consequence: "a flaw in another layer is not caught by a label",
	}
	switch {
	case lsm.HasAppArmor():
		f.Detail = "the host has AppArmor; yurt executor --apparmor-profile names the profile for sandboxes"
	case lsm.HasSELinux() && !lsm.EnforcesSELinux():
		f.Detail = "the host has SELinux, which is permissive: it refuses nothing"
	case lsm.HasSELinux():
		f.Detail = "the host has SELinux; yurt executor --selinux-label and --selinux-file-label name the labels for sandboxes"
	}
	return f
}

// checkLayer is about isolation.per_execution, which needs all that a sandbox needs, and a new /proc in a sandbox's own mount
// namespace.
func checkLayer() Finding {
	var name unix.Utsname
	detail := "for templates with isolation.per_execution"
	if err := unix.Uname(&name); err == nil {
		detail += ", on Linux " + unix.ByteSliceToString(name.Release[:])
	}
	return finding("second layer", true, detail, "executions of one sandbox could see, signal and trace one another, as they can in templates that do not ask for it")
}

// firstLine is the first line of an error, for a table.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
