package pid1

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// On cgroup v2 a child is born in its cgroup by clone3, which the filter denies to
// user code. So init itself is under a filter that allows it, and the child loads
// the filter proper between its birth and its command. The standard library has no
// place for that step, hence this one of our own: syscall.ForkExec with a filter,
// and without what init does not use of it.
//
// What runs in the child is one function that allocates nothing, takes no lock and
// calls nothing but the kernel, as the child has one thread of all that init had.

// birth is all that a child needs to become its command.
type birth struct {
	path       *byte
	argv, envv []*byte
	dir        *byte
	uid, gid   uintptr
	stdio      []*os.File // copies, all numbered from firstCopy
	fds        []uintptr  // theirs
	fate       uintptr    // where the child writes what kept it from its command
	filter     *unix.SockFprog
	terminal   bool // descriptor 0 is a terminal, to become the child's own
	clone      cloneArgs
}

// firstCopy is the least number of a descriptor that is copied for a child, above
// those that the child's own get.
const firstCopy = 16

// cloneArgs is struct clone_args of the kernel.
type cloneArgs struct {
	flags, pidFD, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

func newBirth(path string, argv []string, attr *syscall.ProcAttr, filter *unix.SockFprog) (b *birth, err error) {
	b = &birth{
		uid: uintptr(attr.Sys.Credential.Uid), gid: uintptr(attr.Sys.Credential.Gid), filter: filter, terminal: attr.Sys.Setctty,
		clone: cloneArgs{flags: unix.CLONE_INTO_CGROUP, exitSignal: uint64(syscall.SIGCHLD), cgroup: uint64(attr.Sys.CgroupFD)},
	}
	if b.path, err = syscall.BytePtrFromString(path); err != nil {
		return nil, err
	}
	if b.dir, err = syscall.BytePtrFromString(attr.Dir); err != nil {
		return nil, err
	}
	if b.argv, err = syscall.SlicePtrFromStrings(argv); err != nil {
		return nil, err
	}
	if b.envv, err = syscall.SlicePtrFromStrings(attr.Env); err != nil {
		return nil, err
	}
	for _, fd := range attr.Files {
		file, err := copyAbove(fd)
		if err != nil {
			b.close()
			return nil, err
		}
		b.stdio, b.fds = append(b.stdio, file), append(b.fds, file.Fd())
	}
	return b, nil
}

func (b *birth) close() { closeAll(b.stdio) }

func copyAbove(fd uintptr) (*os.File, error) {
	dup, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, firstCopy)
	if err != nil {
		return nil, fmt.Errorf("copying a descriptor: %w", err)
	}
	return os.NewFile(uintptr(dup), "copy"), nil
}

// start has the child born. What becomes of it, [child.becomes] tells.
func (b *birth) start() (child, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return child{}, fmt.Errorf("making a pipe: %w", err)
	}
	defer write.Close()
	fate, err := copyAbove(write.Fd())
	if err != nil {
		return child{}, errors.Join(err, read.Close())
	}
	defer fate.Close()
	b.fate = fate.Fd()
	syscall.ForkLock.Lock()
	pid, errno := b.fork()
	syscall.ForkLock.Unlock()
	if errno != 0 {
		read.Close()
		return child{}, errno
	}
	return child{pid: int(pid), fate: read}, nil
}

// child is a process that was started.
type child struct {
	pid  int
	fate *os.File // nil for one that has become its command already
}

// becomes waits until the child has become its command, or says what kept it.
func (c child) becomes() error {
	if c.fate == nil {
		return nil
	}
	defer c.fate.Close()
	var errno syscall.Errno
	_, err := io.ReadFull(c.fate, (*[unsafe.Sizeof(errno)]byte)(unsafe.Pointer(&errno))[:])
	if errors.Is(err, io.EOF) {
		return nil // closed by the command's start, or by a death that its status tells of
	}
	if err != nil {
		return fmt.Errorf("waiting for the command: %w", err)
	}
	return errno
}

// The runtime's own preparations for a fork, kept open to other packages by it.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// fork returns in the parent alone. The child has a copy of all memory, so that
// neither can disturb the other.
//
//go:noinline
//go:norace
//go:nocheckptr
func (b *birth) fork() (pid uintptr, errno syscall.Errno) { //nolint:cyclop,gocognit // none of it can be in a function that may grow the stack
	var i int // nothing may be allocated from here on
	beforeFork()
	pid, _, errno = syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&b.clone)), unsafe.Sizeof(b.clone), 0)
	if errno != 0 || pid != 0 {
		afterFork()
		return pid, errno
	}
	afterForkInChild()
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETGID, b.gid, 0, 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETUID, b.uid, 0, 0); errno != 0 {
		goto failed
	}
	for i = range b.fds {
		if _, _, errno = syscall.RawSyscall(unix.SYS_DUP3, b.fds[i], uintptr(i), 0); errno != 0 {
			goto failed
		}
	}
	if b.terminal {
		if _, _, errno = syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); errno != 0 {
			goto failed
		}
	}
	// All others of init's are closed before the directory is looked for: a link to
	// /proc/self/fd would lead by that of a cgroup into the host's file system.
	if _, _, errno = syscall.RawSyscall(unix.SYS_CLOSE_RANGE, uintptr(len(b.fds)), b.fate-1, 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_CLOSE_RANGE, b.fate+1, math.MaxUint32, 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(b.dir)), 0, 0); errno != 0 {
		goto failed
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(b.filter))); errno != 0 {
		goto failed
	}
	_, _, errno = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(b.path)), uintptr(unsafe.Pointer(&b.argv[0])), uintptr(unsafe.Pointer(&b.envv[0])))
failed:
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, b.fate, uintptr(unsafe.Pointer(&errno)), unsafe.Sizeof(errno))
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
