package pid1

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock is one more layer below mounts and permissions: user code may read and
// execute what it sees, and write where it is meant to. It cannot be taken back, and
// holds for whatever the process starts.

// ruleset is a set of rules in the kernel, to be put in force by whoever forks.
type ruleset struct{ fd int }

// Rights to files.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	// What the versions of landlock know.
	rightsOf2 = unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1 // and all before
	rightsOf3 = rightsOf2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	rightsOf5 = rightsOf3 | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// What a rule may give about a device, and about a directory.
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	writeRights  = rightsOf3 &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
)

// devices are what of /dev may be written to; more than one is not in every sandbox.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}
}

// newRuleset returns rules by which the directories, devices and all below them may be
// written to, and everything else only read. It is nil on a kernel without landlock,
// or with its first version, by which no file can be moved to another directory.
func newRuleset(writable []string) (*ruleset, error) {
	const askVersion = 1 // LANDLOCK_CREATE_RULESET_VERSION
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, askVersion)
	if errors.Is(errno, unix.ENOSYS) || errors.Is(errno, unix.EOPNOTSUPP) {
		return nil, nil //nolint:nilnil // as documented
	}
	if errno != 0 {
		return nil, fmt.Errorf("asking for landlock: %w", errno)
	}
	if version < 2 {
		return nil, nil //nolint:nilnil // as documented
	}
	attr := handled(int(version))
	// An older kernel takes a longer structure too, whose end is zero.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("making landlock rules: %w", errno)
	}
	r := &ruleset{fd: int(fd)}
	err := r.allow(readRights, "/")
	err = errors.Join(err, r.allow(deviceRights&attr.Handled_access_fs, devices()...))
	err = errors.Join(err, r.allow(writeRights&attr.Handled_access_fs, writable...))
	if err != nil {
		return nil, errors.Join(err, unix.Close(r.fd))
	}
	return r, nil
}

// handled is what is forbidden unless a rule allows it. Signals and abstract sockets
// of processes that are under the same rules are never forbidden.
func handled(version int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rightsOf2}
	if version >= 3 {
		attr.Handled_access_fs = rightsOf3
	}
	if version >= 5 {
		attr.Handled_access_fs = rightsOf5
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr
}

// allow gives rights to what is at the paths, and to all below. What is not there
// needs none.
func (r *ruleset) allow(rights uint64, paths ...string) error {
	for _, path := range paths {
		if err := r.allowOne(rights, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("making a landlock rule for %s: %w", path, err)
		}
	}
	return nil
}

func (r *ruleset) allowOne(rights uint64, path string) error {
	parent, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(parent)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// restrict puts the calling thread under the rules for good.
func (r *ruleset) restrict() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("putting landlock rules in force: %w", errno)
	}
	return nil
}
