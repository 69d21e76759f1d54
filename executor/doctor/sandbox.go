package doctor

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/idrange"
)

// checkIdentity looks whether the ids that sandboxes get are there to be given: in a container
// with a user namespace of its own they are not.
func checkIdentity() Finding {
	f := Finding{
		Mechanism: "identity", State: InForce, Required: true, Detail: "65,536 user and group ids of its own for each sandbox",
		Consequence: "no sandbox is made: each needs ids that are nobody's on the host; run yurt outside of containers with user namespaces of their own",
	}
	for _, file := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		text, err := os.ReadFile(file)
		if err != nil || !covers(string(text), idrange.First, idrange.End) {
			f.State, f.Detail = Missing, fmt.Sprintf("%s does not hold the ids %d to %d", file, idrange.First, idrange.End-1)
			return f
		}
	}
	return f
}

// covers reports whether a line of the text, as the kernel writes maps of ids, holds all of
// those from first to before end.
func covers(text string, first, end int64) bool {
	for line := range strings.Lines(text) {
		var inside, outside, count int64
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err == nil && inside <= first && inside+count >= end {
			return true
		}
	}
	return false
}

// checkFiles is about the files of the host that a sandbox sees, and their mounts.
func checkFiles() []Finding {
	root := finding("root file system", knows(unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH, &unix.MountAttr{})),
		"read-only, of the host what a template names, without devices and set-uid programs; a /proc of its own, in which other users' processes are hidden",
		"no sandbox is made: its mounts could not be read-only with all below them; it takes Linux 5.12")
	root.Required = true
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err == nil {
		unix.Close(fd)
	}
	return []Finding{root, checkPaths(knows(err))}
}

func checkPaths(ok bool) Finding {
	f := finding("path resolution", ok, "paths in a sandbox are resolved below its root, whatever links are put there meanwhile",
		"no file of a sandbox can be read or written from outside; it takes Linux 5.6")
	f.Required = true
	return f
}

// knows reports whether the kernel has the system call that failed so.
func knows(err error) bool { return !errors.Is(err, unix.ENOSYS) }

// checkPrivileges is about the power of processes in a sandbox over themselves and over stores that the kernel has once for all.
func checkPrivileges() []Finding {
	return []Finding{
		finding("capabilities", true, "none for user code, and none to be had: the bounding set is empty, and set-uid programs give no privilege",
			"code could change what is mounted in its sandbox and its network, and act on its yurt-init"),
		finding("rlimits", true, "open files, locked memory, pending signals, message queues, core dumps and real time are bounded for each process",
			"a process could take all that the kernel has of them for all sandboxes together"),
		checkStores(),
		finding("descriptors", true, "a process has those of its execution and no other",
			"code could reach what the executor or another execution has open, the host's files among it"),
	}
}

// checkStores looks for the limits that a user namespace has on stores that the kernel has once for all.
func checkStores() Finding {
	var missing []string
	for _, name := range []string{"max_inotify_instances", "max_inotify_watches", "max_user_namespaces"} {
		if _, err := os.Stat("/proc/sys/user/" + name); err != nil {
			missing = append(missing, "user."+name)
		}
	}
	f := finding("shared stores", len(missing) == 0, "a sandbox has a part of the kernel's inotify watches and terminals, and no user namespaces below its own",
		"no sandbox is made: one could take all that the kernel has")
	f.Required = true
	if len(missing) > 0 {
		f.Detail = "the kernel has no " + strings.Join(missing, ", ")
	}
	return f
}
