package pid1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The standard library starts processes too, but has no hook for the work that a child does here between its birth and
// its command: set limits, load a filter, enter namespaces. So a birth is a list of system calls that is prepared
// beforehand.
//
// The functions that run in the child do not allocate, take no lock, do not grow the stack and call only the kernel,
// as the child has one of init's many threads. Until its command runs, it uses init's memory, while the thread that
// made it waits; copying the memory would cost more than all the rest.

// birth is all that a child needs to become its command.
type birth struct {
	clone   step
	steps   []step
	layer   *layer     // nil for a process in the sandbox's own namespaces
	fate    uintptr    // of a process with a layer: receives the error that kept it from becoming its command
	fault   fault      // of another, which tells it here, as it has no memory of its own
	owned   []*os.File // descriptors made for the child, all numbered from firstCopy
	pointed []any      // keeps the targets of pointers in the steps' arguments alive
}

// step is one system call of a child, which ends when one fails.
type step struct {
	call   uintptr
	args   [5]uintptr
	first  *uintptr // the first argument, where it is the result of an earlier step
	result *uintptr // where the result goes, if anywhere
}

func call(number uintptr, args ...uintptr) step {
	s := step{call: number}
	copy(s.args[:], args)
	return s
}

// firstCopy is the least number of a descriptor that is copied for a child, above
// those that the child's own get.
const firstCopy = 16

// cloneArgs is struct clone_args of the kernel.
type cloneArgs struct {
	flags      uint64
	_          [3]uint64 // where to put the child's numbers
	exitSignal uint64
	_          [5]uint64 // stack, tls, numbers to take
	cgroup     uint64
}

// borrowed are the flags of a child that uses our memory, and we wait for.
const borrowed = unix.CLONE_VM | unix.CLONE_VFORK

// clonePlain makes a child as fork does, but for the flags. User code may do so too,
// whereas it has not clone3, whose flags a filter cannot see.
func clonePlain(flags uintptr) step { return call(unix.SYS_CLONE, flags|uintptr(syscall.SIGCHLD)) }

// cloneInto makes a child in the cgroup, on v2, if there is one.
func (b *birth) cloneInto(flags uint64, cgroup *os.File) step {
	args := &cloneArgs{flags: flags, exitSignal: uint64(syscall.SIGCHLD)}
	if cgroup != nil {
		args.flags |= unix.CLONE_INTO_CGROUP
		args.cgroup = uint64(cgroup.Fd())
	}
	return call(unix.SYS_CLONE3, pointer(b, args), unsafe.Sizeof(*args))
}

// pointer returns the address of p's target, and keeps the target there.
func pointer[T any](b *birth, p *T) uintptr {
	b.pointed = append(b.pointed, p)
	return uintptr(unsafe.Pointer(p))
}

func (b *birth) text(s string) (uintptr, error) {
	p, err := syscall.BytePtrFromString(s)
	if err != nil {
		return 0, err
	}
	return pointer(b, p), nil
}

func (b *birth) texts(list []string) (uintptr, error) {
	p, err := syscall.SlicePtrFromStrings(list)
	if err != nil {
		return 0, err
	}
	b.pointed = append(b.pointed, p)
	return uintptr(unsafe.Pointer(&p[0])), nil
}

// add appends system calls to the child's.
func (b *birth) add(steps ...step) { b.steps = append(b.steps, steps...) }

// lead appends a system call of the session's leader. In a process with a layer that is the keeper, whose group is
// then signalled together with the command's.
func (b *birth) lead(s step) {
	if b.layer != nil {
		b.layer.steps = append(b.layer.steps, s)
	} else {
		b.add(s)
	}
}

// takeFiles gives the child its descriptors, from 0 on. All others are closed by the
// steps of closeOthers.
func (b *birth) takeFiles(fds []uintptr) error {
	for i, fd := range fds {
		file, err := copyAbove(fd)
		if err != nil {
			return err
		}
		b.owned = append(b.owned, file)
		b.add(call(unix.SYS_DUP3, file.Fd(), uintptr(i), 0))
	}
	return nil
}

// closeOthers returns the steps that close every descriptor from first on, except for but. but is at least first, or 0
// for no exception.
func closeOthers(first, but uintptr) []step {
	if but == 0 {
		return []step{call(unix.SYS_CLOSE_RANGE, first, math.MaxUint32, 0)}
	}
	return []step{
		call(unix.SYS_CLOSE_RANGE, first, but-1, 0),
		call(unix.SYS_CLOSE_RANGE, but+1, math.MaxUint32, 0),
	}
}

func (b *birth) close() { closeAll(b.owned) }

func copyAbove(fd uintptr) (*os.File, error) {
	dup, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, firstCopy)
	if err != nil {
		return nil, fmt.Errorf("copying a descriptor: %w", err)
	}
	return os.NewFile(uintptr(dup), "copy"), nil
}

// pipeAbove is a pipe whose writing end has a number from firstCopy on.
func pipeAbove() (read, write *os.File, err error) {
	read, low, err := pipeFrom()
	if err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	defer low.Close()
	if write, err = copyAbove(low.Fd()); err != nil {
		return nil, nil, errors.Join(err, read.Close())
	}
	return read, write, nil
}

// start gives birth to the child; [child.becomes] reports whether its command runs.
func (b *birth) start(c *child) error {
	syscall.ForkLock.Lock()
	pid, errno := b.fork()
	syscall.ForkLock.Unlock()
	if errno != 0 {
		return errno
	}
	c.pid, c.fault = int(pid), b.fault
	return nil
}

// child is a process that was started.
type child struct {
	pid    int
	fault  fault    // the failure that kept it from becoming its command, if known already
	fate   *os.File // tells that of a process with a layer
	report *os.File // of a process with a layer: how its command ended
}

// becomes waits until the child has become its command, or returns the failure that kept it.
func (c child) becomes() error {
	if c.fate == nil { // a zygote's child runs already; for any other child, start has waited
		if c.fault.errno != 0 {
			return c.fault
		}
		return nil
	}
	defer c.fate.Close()
	var end [fateSize]byte
	_, err := io.ReadFull(c.fate, end[:])
	if errors.Is(err, io.EOF) {
		return nil // closed by the command's start, or by a death that its status tells of
	}
	if err != nil {
		return fmt.Errorf("waiting for the command: %w", err)
	}
	return fault{uintptr(binary.NativeEndian.Uint64(end[:])), syscall.Errno(binary.NativeEndian.Uint64(end[8:]))}
}

// fault is the failed system call that kept a child from becoming its command.
type fault struct {
	call  uintptr
	errno syscall.Errno
}

// Error implements error.
func (f fault) Error() string { return fmt.Sprintf("system call %d: %v", f.call, f.errno) }

// ended returns how the command ended, given how the child did.
func (c child) ended(status syscall.WaitStatus) syscall.WaitStatus {
	if c.report == nil {
		return status
	}
	defer c.report.Close()
	var word [4]byte
	// Every process that could write to the report has ended: the word is complete or never comes.
	if _, err := io.ReadFull(c.report, word[:]); err != nil {
		return status
	}
	return syscall.WaitStatus(binary.NativeEndian.Uint32(word[:]))
}

// files are those that init has of the child; one that it has not is nil.
func (c child) files() []*os.File { return []*os.File{c.fate, c.report} }

// fateSize is the size of a failed child's report: the number of the system call and its error.
const fateSize = 16

// The runtime's own preparations for a fork, kept open to other packages by it.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// rawClone makes a system call that returns twice, the first time in a child that may
// be using the caller's stack.
//
//go:noescape
func rawClone(number, a, b uintptr) (pid, errno uintptr)

// fork returns in the parent alone.
//
//go:norace
//go:nocheckptr
func (b *birth) fork() (uintptr, syscall.Errno) {
	beforeFork() // no allocation is allowed from here on
	pid, errno := b.fork1()
	afterFork()
	return pid, errno
}

// The parent's only action in fork1 is the call: the child lives in fork1's stack frame.
//
//go:noinline
//go:norace
//go:nocheckptr
//go:nosplit
func (b *birth) fork1() (uintptr, syscall.Errno) {
	pid, errno := rawClone(b.clone.call, b.clone.args[0], b.clone.args[1])
	if errno != 0 || pid != 0 {
		return pid, syscall.Errno(errno)
	}
	afterForkInChild()
	if b.layer != nil {
		b.enterLayer()
	}
	b.perform(b.steps) // the last of which does not return
	b.fail(0, 0)
	return 0, 0
}

// do makes the call.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (s *step) do() (uintptr, syscall.Errno) {
	first := s.args[0]
	if s.first != nil {
		first = *s.first
	}
	result, _, errno := syscall.RawSyscall6(s.call, first, s.args[1], s.args[2], s.args[3], s.args[4], 0)
	if s.result != nil {
		*s.result = result
	}
	return result, errno
}

// perform makes the calls, and ends the process if one fails.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (b *birth) perform(steps []step) {
	for i := range steps {
		if _, errno := steps[i].do(); errno != 0 {
			b.fail(steps[i].call, errno)
		}
	}
}

// fail reports the failed system call to init, and ends the process.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (b *birth) fail(number uintptr, errno syscall.Errno) {
	if b.layer == nil {
		b.fault.call, b.fault.errno = number, errno
	} else {
		end := [2]uint64{uint64(number), uint64(errno)}
		_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, b.fate, uintptr(unsafe.Pointer(&end)), fateSize)
	}
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
