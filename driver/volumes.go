package driver

import (
	"fmt"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/taskspec"
	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// defaultUser is the user and the group that a task runs as that names no other.
const defaultUser = 1000

// closedVolumes says of each volume and mount that the task is to write to whether its user
// cannot: a directory of root's, as mkdir leaves it, looks like a fault of the program. It is
// no error, as the task may only want to read.
func closedVolumes(config *drivers.TaskConfig, host *yurt.HostAccess, user *yurt.User) (warnings []string) {
	if user == nil {
		user = &yurt.User{UID: defaultUser, GID: defaultUser}
	}
	own := taskspec.Directories(config)
	for _, m := range host.Mounts[min(len(own), len(host.Mounts)):] {
		if m.ReadOnly || m.Base != "" { // the task's directory is Nomad's to set up
			continue
		}
		var stat unix.Stat_t
		if unix.Stat(m.Source, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR || mayWrite(m.Source, *user) {
			continue
		}
		warnings = append(warnings, fmt.Sprintf(
			"the task cannot write to %s: on the node %s belongs to %d:%d with mode %04o, and the task runs as %d:%d; run chown %d:%d %s on the node, set user in the task, or make the mount read-only",
			m.Target, m.Source, stat.Uid, stat.Gid, stat.Mode&0o7777, user.UID, user.GID, user.UID, user.GID, m.Source))
	}
	return warnings
}

// mayWrite reports whether the user may make files in the directory: by its owner, mode and
// access list, all of which the kernel knows. Directories above it do not count, as a sandbox
// has it without them.
func mayWrite(dir string, user yurt.User) (may bool) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true // the sandbox will name the fault
	}
	defer unix.Close(fd)
	lockedthread.Run(func() {
		if unix.Setgroups(nil) != nil {
			may = true
			return
		}
		_, _ = unix.SetfsgidRetGid(int(user.GID))
		_, _ = unix.SetfsuidRetUid(int(user.UID)) // and with it the capabilities of root over files go
		err := unix.Faccessat2(fd, "", unix.W_OK|unix.X_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH)
		may = err != unix.EACCES //nolint:errorlint // the kernel returns it as it is
	})
	return may
}
