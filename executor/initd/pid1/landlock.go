package pid1

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlock is one more layer below mounts and permissions: user code may read and execute the files that it sees, and
// write only to the directories and devices meant for that. A process cannot take it back, and its children inherit
// it.
type landlock struct {
	attr  unix.LandlockRulesetAttr
	rules []rule
}

// rule gives rights to the file at path, and to all below it.
type rule struct {
	path   string
	rights uint64
}

// Rights to files.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	// The rights that each version of landlock knows.
	rightsOf2 = unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1 // and all before
	rightsOf3 = rightsOf2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	rightsOf5 = rightsOf3 | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// The rights that a rule may give to a device, and to a directory.
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	writeRights  = rightsOf3 &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
)

// devices lists the files of /dev that may be written to.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}
}

// newLandlock returns rules by which the directories, devices, more of which are given, and all below them may be
// written to, and everything else only read. It is nil on a kernel without landlock,
// or with its first version, by which no file can be moved to another directory.
func newLandlock(writable, more []string) (*landlock, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errors.Is(errno, unix.ENOSYS) || errors.Is(errno, unix.EOPNOTSUPP) {
		return nil, nil //nolint:nilnil // as documented
	}
	if errno != 0 {
		return nil, fmt.Errorf("asking for landlock: %w", errno)
	}
	if version < 2 {
		return nil, nil //nolint:nilnil // as documented
	}
	l := &landlock{attr: handled(int(version))}
	l.allow(readRights, "/")
	l.allow(deviceRights, devices()...)
	l.allow(deviceRights, more...)
	l.allow(writeRights, writable...)
	return l, nil
}

// handled returns the rights that are forbidden unless a rule grants them. Signals and abstract sockets of processes
// under the same rules are always allowed.
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

// allow adds rules for those of the paths that exist.
func (l *landlock) allow(rights uint64, paths ...string) {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			l.rules = append(l.rules, rule{path, rights & l.attr.Handled_access_fs})
		}
	}
}

// beneath is struct landlock_path_beneath_attr, with room after it.
type beneath struct {
	rights uint64
	parent uintptr // a descriptor, of which the kernel takes the first half
}

// steps returns the steps that make the rules, and the step that puts them in force for the process. Its caller closes
// the descriptors that the steps open.
func (l *landlock) steps(b *birth) (rules []step, restrict step, err error) {
	ruleset := new(uintptr)
	// An older kernel takes a longer structure too, whose end is zero.
	made := call(unix.SYS_LANDLOCK_CREATE_RULESET, pointer(b, &l.attr), unsafe.Sizeof(l.attr), 0)
	made.result = ruleset
	rules = []step{made}
	for _, r := range l.rules {
		path, err := b.text(r.path)
		if err != nil {
			return nil, step{}, err
		}
		attr := &beneath{rights: r.rights}
		cwd := unix.AT_FDCWD
		open := call(unix.SYS_OPENAT, uintptr(cwd), path, unix.O_PATH|unix.O_CLOEXEC)
		open.result = &attr.parent
		add := call(unix.SYS_LANDLOCK_ADD_RULE, 0, unix.LANDLOCK_RULE_PATH_BENEATH, pointer(b, attr), 0)
		add.first = ruleset
		rules = append(rules, open, add)
	}
	restrict = call(unix.SYS_LANDLOCK_RESTRICT_SELF, 0, 0)
	restrict.first = ruleset
	return rules, restrict, nil
}

// restrict puts the calling thread under the rules for good.
func (l *landlock) restrict() error {
	b := &birth{}
	steps, restrict, err := l.steps(b)
	if err != nil {
		return err
	}
	var opened []int
	defer func() {
		for _, fd := range opened {
			unix.Close(fd)
		}
		runtime.KeepAlive(b)
	}()
	for _, s := range append(steps, restrict) {
		result, errno := s.do()
		if errno != 0 {
			return fmt.Errorf("putting landlock in force: %w", fault{s.call, errno})
		}
		if s.result != nil {
			opened = append(opened, int(result))
		}
	}
	return nil
}
