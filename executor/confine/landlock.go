package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of landlock to files, by the version of the kernel's interface that knows them.
const (
	rightsOf2 = unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1 // and all before
	rightsOf3 = rightsOf2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	rightsOf5 = rightsOf3 | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	readRights   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	writeRights  = rightsOf3 &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
)

// landlockVersion returns the version of landlock that the kernel has, or 0.
func landlockVersion() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errors.Is(errno, unix.ENOSYS) || errors.Is(errno, unix.EOPNOTSUPP) {
		return 0, nil
	}
	if errno != 0 {
		return 0, fmt.Errorf("asking for landlock: %w", errno)
	}
	return int(version), nil
}

// handled returns the actions that landlock of that version forbids unless a rule allows them.
func handled(version int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rightsOf2}
	switch {
	case version >= 5:
		attr.Handled_access_fs = rightsOf5
	case version >= 3:
		attr.Handled_access_fs = rightsOf3
	}
	if version >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr
}

// beneath is struct landlock_path_beneath_attr, with room after it.
type beneath struct {
	rights uint64
	parent uintptr // a descriptor, of which the kernel takes the first half
}

// restrictFiles lets the calling thread read and execute what it sees, and write to its directory and to harmless devices. It
// has no effect on a kernel without landlock or with its first version, where the view of the file system is the one layer.
func restrictFiles() error {
	version, err := landlockVersion()
	if err != nil || version < 2 { // by its first version files could not be moved between directories
		return err
	}
	attr := handled(version)
	// An older kernel takes a longer structure too, whose end is zero.
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("making rules of landlock: %w", errno)
	}
	defer unix.Close(int(ruleset))
	rules := map[string]uint64{"/": readRights, Dir: writeRights}
	for _, device := range devices() {
		rules["/dev/"+device] = deviceRights
	}
	for path, rights := range rules {
		if err := allow(ruleset, path, rights&attr.Handled_access_fs); err != nil {
			return fmt.Errorf("making a rule of landlock for %s: %w", path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("putting landlock in force: %w", errno)
	}
	return nil
}

func allow(ruleset uintptr, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	rule := beneath{rights: rights, parent: uintptr(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
