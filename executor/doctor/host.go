package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/rundir"
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
		return Finding{Mechanism: "io weight", State: InForce, Detail: "scheduler bfq on " + strings.Join(disks, ", ")}
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

// checkRunDir says whether what is known of sandboxes costs writes to a disk.
func checkRunDir() Finding {
	f := Finding{Mechanism: "runtime directory", State: InForce, Detail: rundir.Default + " is in memory"}
	if !rundir.InMemory(rundir.Default) {
		f.State, f.Detail = Degraded, rundir.Default+" is on a disk"
		f.Consequence = "sandboxes and executions take longer to start; give yurt executor --run-dir a directory in memory, as /dev/shm, or mount a tmpfs on " + rundir.Default
	}
	return f
}

// checkDisks says what bounds what a sandbox writes.
func checkDisks() []Finding {
	findings := []Finding{{
		Mechanism: "disk limit in memory", State: InForce,
		Detail: "disk_kind memory, the default: sized file systems in memory, which count towards the memory limit and end with the host's power",
	}}
	images := Finding{Mechanism: "disk limit by image", State: InForce, Detail: "disk_kind image: a file system in a file of the node's disk"}
	if err := disk.Check(); err != nil {
		images.State, images.Detail, images.Consequence = Missing, firstLine(err), "templates with disk_kind \"image\" are refused; no workspace can be larger than memory"
	}
	return append(findings, images, checkQuotas())
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
	if err != nil || len(places) == 0 {
		return Finding{
			Mechanism: "project quota", State: Missing, Detail: "no file system of this host enforces any",
			Consequence: "templates with disk_kind \"quota\" are refused; images take their place, or a state directory on ext4 or XFS that is mounted with prjquota",
		}
	}
	return Finding{Mechanism: "project quota", State: InForce, Detail: "disk_kind quota: for state directories on " + strings.Join(places, ", ")}
}

func checkKeyrings() Finding {
	_, err := os.Stat("/proc/sys/kernel/keys")
	if err != nil {
		return Finding{Mechanism: "keyring", State: InForce, Detail: "the kernel has no keyrings to share"}
	}
	return Finding{Mechanism: "keyring", State: InForce, Detail: "a session keyring for each sandbox, and no call to use any"}
}

// checkCoreDumps says who would be handed the memory of a crashed process.
func checkCoreDumps() Finding {
	f := Finding{Mechanism: "core dumps", State: InForce, Detail: "none are made"}
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err == nil && strings.HasPrefix(string(pattern), "|") {
		f.Detail = "none are made: the host's handler (" + strings.TrimSpace(string(pattern[1:])) + ") is not started for sandboxes"
	}
	return f
}

// checkLSM says what labels this host could enforce; which are, the operator chooses.
func checkLSM() Finding {
	f := Finding{
		Mechanism: "mandatory access control", State: Missing, Detail: "the host has neither AppArmor nor SELinux",
		Consequence: "a flaw in another layer is not caught by a label",
	}
	switch {
	case lsm.HasAppArmor():
		f.Detail = "the host has AppArmor; yurt executor --apparmor-profile names the profile for sandboxes"
	case lsm.HasSELinux():
		f.Detail = "the host has SELinux; yurt executor --selinux-label names the label for sandboxes"
	}
	return f
}

// checkLayer is about isolation.per_execution, which takes what every sandbox takes,
// and a new /proc in a sandbox's own mount namespace.
func checkLayer() Finding {
	var name unix.Utsname
	detail := "for templates with isolation.per_execution"
	if err := unix.Uname(&name); err == nil {
		detail += ", on Linux " + unix.ByteSliceToString(name.Release[:])
	}
	return Finding{Mechanism: "second layer", State: InForce, Detail: detail}
}

// firstLine is what an error tells, for a table.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
