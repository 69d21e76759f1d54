package confine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/seccomp"
	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// Bounds of one program.
const (
	Memory    = 256 << 20 // bytes, swap and the files in its directory included
	Processes = 64        // threads included
)

// removalTime bounds how long the removal of a cgroup waits for processes that were killed.
const removalTime = 5 * time.Second

// parent is the cgroup of the programs of all nodes of the host.
const parent = "yurt-programs"

// Unpacker is the name of the program that unpacks images.
const Unpacker = "yurt-unpack"

// Piped is a program that was started by a request, with a pipe for each stream. The caller closes the files.
type Piped struct {
	Stdin, Stdout, Stderr *os.File
	Wait                  func() error // until it is gone; says how it failed, and whether for want of memory
	Kill                  func()
}

// Starter starts programs confined. Its methods may be called concurrently.
type Starter struct {
	groups  *cgroup.Manager
	ids     *idrange.Ranges
	filter  []unix.SockFilter
	owner   string // begins the names of its cgroups, see sweep
	started atomic.Int64
}

// New returns a starter. The caller is root of the host, and calls Close.
func New() (*Starter, error) {
	groups, err := cgroup.Open(parent)
	if err != nil {
		return nil, err
	}
	filter, err := compile(seccomp.Programs())
	if err != nil {
		return nil, err
	}
	// Package os tries once in each process whether the kernel has descriptors of processes, and starts a child for it. That child
	// must not be the first of a program's namespace.
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("looking for this process: %w", err)
	}
	var space unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &space); err != nil {
		return nil, fmt.Errorf("finding the namespace of this process: %w", err)
	}
	s := &Starter{groups: groups, ids: idrange.NewPrograms(), filter: filter, owner: fmt.Sprintf("%d.%d", space.Ino, os.Getpid())}
	return s, errors.Join(self.Release(), s.sweep())
}

// Close removes the directory that the starter's cgroups were in, unless another process has some there. The programs must have been released.
func (s *Starter) Close() { s.groups.RemoveParent() }

// sweep removes the cgroups of programs whose starter was killed. The programs ended with it. A starter is named by its process and
// the namespace that counts its processes: containers may share the tree of cgroups, and a number of one is another process, or no
// process, in the others.
func (s *Starter) sweep() error {
	space, _, _ := strings.Cut(s.owner, ".")
	names, err := s.groups.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		owner, _, _ := strings.Cut(name, "-")
		its, process, _ := strings.Cut(owner, ".")
		if pid, err := strconv.Atoi(process); err != nil || its != space || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		if err := s.remove(s.groups.Program(name)); err != nil {
			return err
		}
	}
	return nil
}

// newGroup makes a cgroup whose name begins with the owner, see sweep.
func (s *Starter) newGroup(program string, memory int64, processes int) (*cgroup.Program, error) {
	for {
		group, err := s.groups.NewProgram(fmt.Sprintf("%s-%s-%d", s.owner, program, s.started.Add(1)), memory, processes)
		if !errors.Is(err, os.ErrExist) { // as that of another starter of this process does
			return group, err
		}
	}
}

func (s *Starter) remove(group *cgroup.Program) error {
	ctx, cancel := context.WithTimeout(context.Background(), removalTime)
	defer cancel()
	return group.Remove(ctx)
}

// Start starts cmd confined. It runs binary, which other users must be allowed to execute, instead of the file at cmd.Path. The result dir is the
// program's one directory, which it sees as [Dir]. The process dies with this one. The caller calls release when the process has
// been waited for, which says whether it ended for want of memory, and closes dir. An error of the program itself is that of cmd.Start; that
// of a host which cannot confine it is a [yurt.Error].
func (s *Starter) Start(cmd *exec.Cmd, binary *os.File) (dir *os.File, release func() error, err error) {
	b := &birth{cmd: cmd, binary: binary, fileBytes: dirBytes}
	release, err = s.start(b)
	return b.dir, release, err
}

// StartIn is [Starter.Start] with a directory of the caller's as the one that the program may write to. The directory is the program's user's
// from then on, and the size of a file in it is bounded.
func (s *Starter) StartIn(cmd *exec.Cmd, binary, dir *os.File, fileBytes int64) (release func() error, err error) {
	b := &birth{cmd: cmd, binary: binary, given: dir, fileBytes: uint64(fileBytes)}
	if release, err = s.start(b); err != nil {
		return nil, err
	}
	return release, b.dir.Close()
}

func (s *Starter) start(b *birth) (release func() error, err error) {
	id, err := s.ids.Take()
	if err != nil {
		return nil, err
	}
	group, err := s.newGroup(filepath.Base(b.cmd.Args[0]), Memory, Processes)
	if err != nil {
		s.ids.Free(id)
		return nil, unconfined(err)
	}
	b.id, b.filter, b.group, b.born, b.over = id, s.filter, group, make(chan error, 1), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lockedthread.Run(b.run)
	}()
	release = func() error {
		close(b.over)
		<-ended
		s.ids.Free(id)
		return errors.Join(memoryEnded(group), s.remove(group))
	}
	if err := <-b.born; err != nil {
		b.dir = nil
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// birth is the start of one program, on a thread that ends with it: the kernel ends the program with that thread.
type birth struct {
	cmd       *exec.Cmd
	binary    *os.File
	given     *os.File // the directory to write to; nil for one in memory
	fileBytes uint64   // the bound of a file

	id     uint32
	filter []unix.SockFilter
	group  *cgroup.Program
	born   chan error
	over   chan struct{} // closed when the process is gone

	dir *os.File // set before born has an answer
}

func (b *birth) run() {
	err := b.start()
	b.born <- err
	<-b.over
}

func (b *birth) start() error {
	name := filepath.Base(b.cmd.Args[0])
	if err := b.prepare(name); err != nil {
		return unconfined(err)
	}
	b.cmd.Path = filepath.Join(programDir, name)
	attr := *b.cmd.SysProcAttr
	attr.Credential = &syscall.Credential{Uid: b.id, Gid: b.id}
	attr.Pdeathsig, attr.Ptrace = syscall.SIGKILL, true
	b.cmd.SysProcAttr = &attr
	if err := b.cmd.Start(); err != nil {
		return errors.Join(err, b.dir.Close()) // of the program, which the caller explains
	}
	if err := b.admit(b.cmd.Process.Pid); err != nil {
		err = errors.Join(unconfined(err), b.cmd.Process.Kill(), b.dir.Close())
		_ = b.cmd.Wait() // it says that it was killed
		return err
	}
	return nil
}

// prepare changes the thread, for good.
func (b *birth) prepare(name string) error {
	// Descriptors that this process was started with are not for its programs.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keeping descriptors from programs: %w", err)
	}
	if err := b.group.Enter(); err != nil {
		return err
	}
	v := view{name: name, id: b.id, dir: -1}
	var err error
	if v.binary, err = openTree(b.binary); err != nil {
		return err
	}
	defer unix.Close(v.binary)
	if b.given != nil {
		if v.dir, err = openTree(b.given); err != nil {
			return err
		}
		defer unix.Close(v.dir)
		if err := b.given.Chown(int(b.id), int(b.id)); err != nil {
			return fmt.Errorf("giving a program its directory: %w", err)
		}
	}
	if err := unix.Unshare(namespaces | unix.CLONE_FS); err != nil {
		return fmt.Errorf("making namespaces for a program: %w", err)
	}
	unix.Umask(0o022)
	if err := unix.Sethostname([]byte("yurt")); err != nil {
		return fmt.Errorf("naming the host of a program: %w", err)
	}
	if err := v.enter(); err != nil {
		return err
	}
	fd, err := unix.Open(Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening the directory of a program: %w", err)
	}
	b.dir = os.NewFile(uintptr(fd), Dir)
	if b.given == nil {
		unix.Umask(0o007) // the group of its files is the executor's
	}
	if err := giveUpPower(b.filter); err != nil {
		return errors.Join(err, b.dir.Close())
	}
	return nil
}

// admit lets the program go, which the kernel has stopped before its first instruction, once it is under its limits.
func (b *birth) admit(pid int) error {
	if err := awaitStop(pid); err != nil {
		return err
	}
	checked := make(chan error)
	go func() { // on another thread, which sees the host's files
		checked <- errors.Join(b.group.Add(pid), limit(pid, b.id, b.fileBytes), checkPowerless(pid, b.id))
	}()
	if err := <-checked; err != nil {
		return err
	}
	if err := unix.PtraceDetach(pid); err != nil {
		return fmt.Errorf("letting a program begin: %w", err)
	}
	return nil
}

// awaitStop waits until the kernel has stopped a child of this thread before its first instruction.
func awaitStop(pid int) error {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("waiting for a program to begin: %w", err)
		}
		break
	}
	if !status.Stopped() {
		return fmt.Errorf("a program ended before it began: %v", status)
	}
	return nil
}

func memoryEnded(group *cgroup.Program) error {
	killed, err := group.Killed()
	if err == nil && killed > 0 {
		err = fmt.Errorf("it needed more memory than the %s that it may have", yurt.Size(Memory))
	}
	return err
}

// unconfined is the error of a program that is not started because it would have power over the host.
func unconfined(err error) error {
	return yurt.Errorf(yurt.CodeRuntimeUnavailable, "it cannot be confined: %w", err)
}
