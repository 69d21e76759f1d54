//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// userNamespace returns a user namespace with the ids of the specification. Its owner is the host id of the sandbox's root, so the
// kernel charges inotify instances, pending signals and the like to that id, where a namespace that root makes has them charged to
// the host's root, with those of all other sandboxes.
func userNamespace(linux *specs.Linux) (file *os.File, err error) {
	if len(linux.UIDMappings) == 0 || len(linux.GIDMappings) == 0 {
		return nil, errors.New("making a user namespace: the request maps no ids")
	}
	lockedthread.Run(func() { file, err = makeNamespace(linux) })
	if err != nil {
		return nil, fmt.Errorf("making a user namespace: %w", err)
	}
	return file, nil
}

// makeNamespace changes the identity of the calling thread, which ends afterwards.
func makeNamespace(linux *specs.Linux) (file *os.File, err error) {
	if err := become(linux.UIDMappings[0].HostID, linux.GIDMappings[0].HostID); err != nil {
		return nil, err
	}
	pid, free, err := startInNamespace()
	if err != nil {
		return nil, err
	}
	defer free()
	defer func() { err = errors.Join(err, end(pid)) }()
	for name, mappings := range map[string][]specs.LinuxIDMapping{"uid_map": linux.UIDMappings, "gid_map": linux.GIDMappings} {
		var lines strings.Builder
		for _, m := range mappings {
			fmt.Fprintf(&lines, "%d %d %d\n", m.ContainerID, m.HostID, m.Size)
		}
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, name), []byte(lines.String()), 0); err != nil {
			return nil, err
		}
	}
	return os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
}

// become gives the calling thread the effective user and group, and its capabilities back, which the change takes away. The kernel
// makes the whole process undumpable by that, and so its files in /proc unreadable to the processes that libcontainer starts.
func become(uid, gid uint32) error {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(header, &sets[0]); err != nil {
		return err
	}
	const keep = ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESGID, keep, uintptr(gid), keep); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
		return errno
	}
	if err := unix.Capset(header, &sets[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(dumpable), 0, 0, 0)
}

// end ends the process and waits until it is gone.
func end(pid int) error {
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		return err
	}
	for {
		_, err := unix.Wait4(pid, nil, unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
