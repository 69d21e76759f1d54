package confine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/seccomp"
	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// FileServer is the name of the program that serves files of sandboxes.
const FileServer = "yurt-files"

// FileServerID is its user and group: the first one that a sandbox can have. It is root in the user namespace of that sandbox, and no code has it.
const FileServerID = idrange.First

// filePowers are the capabilities of the program in its user namespace: to use files as each user that a sandbox can have.
const filePowers = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID

// StartFileServer starts cmd as the program that serves files of sandboxes. It runs binary, which other users must be allowed to execute. The
// program has a user namespace with the ids of sandboxes alone, and namespaces of its own for mounts, processes, network, messages and
// names. It sees its own binary, /dev/null and its own descriptors, and no other file. The process dies with this one. The caller calls release
// when the process has been waited for. The program makes no call before [AllowFileCalls], so that [CheckFileServer] holds once it has begun to serve.
//
// Its cgroup bounds its threads, and lets the next starter end it. It does not bound memory, since the kernel charges files in memory to the cgroup
// of their writer. The program has no rules of landlock, which would have to name directories that it is given later, and under which no file
// can be moved between directories.
func (s *Starter) StartFileServer(cmd *exec.Cmd, binary *os.File) (release func() error, err error) {
	group, err := s.newGroup(FileServer, math.MaxInt64&^0xffff, fileThreads)
	if err != nil {
		return nil, unconfined(err)
	}
	b := &fileBirth{cmd: cmd, binary: binary, group: group}
	born, over, ended := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		lockedthread.Run(func() {
			born <- b.start()
			<-over // the kernel ends the program with this thread
		})
	}()
	release = func() error {
		close(over)
		<-ended
		return s.remove(group)
	}
	if err := <-born; err != nil {
		return nil, errors.Join(unconfined(err), release())
	}
	return release, nil
}

// fileBirth is the start of the program on a thread that ends with it.
type fileBirth struct {
	cmd    *exec.Cmd
	binary *os.File
	group  *cgroup.Program
}

func (b *fileBirth) start() error {
	if err := b.prepare(); err != nil {
		return err
	}
	mapping := []syscall.SysProcIDMap{{ContainerID: idrange.First, HostID: idrange.First, Size: idrange.Programs - idrange.First}}
	b.cmd.Path = programDir + "/" + FileServer
	b.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 unix.CLONE_NEWUSER,
		UidMappings:                mapping,
		GidMappings:                mapping,
		GidMappingsEnableSetgroups: true,
		Credential:                 &syscall.Credential{Uid: FileServerID, Gid: FileServerID},
		AmbientCaps:                []uintptr{unix.CAP_SETUID, unix.CAP_SETGID},
		Pdeathsig:                  syscall.SIGKILL,
		Setpgid:                    true,
		Ptrace:                     true,
	}
	if err := b.cmd.Start(); err != nil {
		return err
	}
	if err := b.admit(b.cmd.Process.Pid); err != nil {
		err = errors.Join(err, b.cmd.Process.Kill())
		_ = b.cmd.Wait() // it says that it was killed
		return err
	}
	return nil
}

// prepare changes the thread, for good.
func (b *fileBirth) prepare() error {
	// Descriptors that this process was started with are not for its programs.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keeping descriptors from programs: %w", err)
	}
	if err := b.group.Enter(); err != nil {
		return err
	}
	tree, err := openTree(b.binary)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := unix.Unshare(namespaces | unix.CLONE_FS); err != nil {
		return fmt.Errorf("making namespaces for a program: %w", err)
	}
	unix.Umask(0o022)
	if err := unix.Sethostname([]byte("yurt")); err != nil {
		return fmt.Errorf("naming the host of a program: %w", err)
	}
	if err := enterFileView(tree); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing the ambient capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	return nil
}

// ownFiles is where the program finds its descriptors.
const ownFiles = "/proc/self/fd"

// enterFileView gives the calling thread, which has namespaces of its own, a root with the binary, /dev/null and a whole /proc, by which the
// thread gives the program its ids.
func enterFileView(binary int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("parting the mounts of a program from the host's: %w", err)
	}
	if err := unix.Mount("view", stage, "tmpfs", plainMount, "mode=0755,size=64k,nr_inodes=64"); err != nil {
		return fmt.Errorf("mounting the root of a program: %w", err)
	}
	if err := bindFile("/dev/null", stage+"/dev/null", bindFlags); err != nil {
		return fmt.Errorf("giving a program /dev/null: %w", err)
	}
	v := view{binary: binary, name: FileServer}
	if err := v.showBinary(stage + programDir + "/" + FileServer); err != nil {
		return fmt.Errorf("showing a program its binary: %w", err)
	}
	if err := os.MkdirAll(stage+ownFiles, 0o755); err != nil {
		return err
	}
	if err := mountNew("/proc", "proc", plainMount|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	return turnRoot()
}

// admit lets the program go, which the kernel has stopped before its first instruction, once it sees no process and has its limits.
func (b *fileBirth) admit(pid int) error {
	if err := awaitStop(pid); err != nil {
		return err
	}
	if err := showOwnFiles(pid); err != nil {
		return err
	}
	added := make(chan error)
	go func() { added <- b.group.Add(pid) }() // on another thread, which sees the host's files
	if err := <-added; err != nil {
		return err
	}
	for resource, value := range fileLimits() {
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil {
			return fmt.Errorf("setting limit %d of a program: %w", resource, err)
		}
	}
	if err := unix.PtraceDetach(pid); err != nil {
		return fmt.Errorf("letting a program begin: %w", err)
	}
	return nil
}

// showOwnFiles replaces /proc by the one directory of it that has the descriptors of the process. By others, a process with the identity of a
// sandbox's user could reach that sandbox's processes.
func showOwnFiles(pid int) error {
	fds, err := unix.OpenTree(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/fd", pid), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening the descriptors of a program as a mount: %w", err)
	}
	defer unix.Close(fds)
	if err := unix.Unmount("/proc", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("taking /proc from a program: %w", err)
	}
	if err := unix.MoveMount(fds, "", unix.AT_FDCWD, ownFiles, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("showing a program its descriptors: %w", err)
	}
	if err := unix.Mount("", ownFiles, "", bindFlags|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("showing a program its descriptors: %w", err)
	}
	return nil
}

// Bounds of the program, for 512 requests at once, each on a thread and with a piece of content.
const (
	fileMemory  = 1 << 30 // bytes of its own
	fileThreads = 1024
)

// fileLimits are limits of the program. It may have as many files open as the node, and writes files of any size within the disks of sandboxes.
func fileLimits() map[int]uint64 {
	all := limits(0)
	delete(all, unix.RLIMIT_FSIZE)
	delete(all, unix.RLIMIT_NOFILE)
	all[unix.RLIMIT_DATA] = fileMemory
	return all
}

// AllowFileCalls lets all threads of this process make the system calls of a server of files, and no others, for good. The process has no_new_privs.
func AllowFileCalls() error {
	filter, err := compile(seccomp.FileServer())
	if err != nil {
		return err
	}
	return loadFilterEverywhere(filter)
}

// loadFilterEverywhere puts all threads of the process under the filter for good.
func loadFilterEverywhere(program []unix.SockFilter) error {
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	odd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return fmt.Errorf("loading the filter of system calls: %w", errno)
	}
	if odd != 0 {
		return fmt.Errorf("loading the filter of system calls: thread %d has another one", odd)
	}
	return nil
}

// CheckFileServer reads in /proc that a program, which has begun to serve files, has the user id, the capabilities and the filter that it must have.
func CheckFileServer(pid int) error {
	want := identityOf(FileServerID)
	powers := fmt.Sprintf("%016x", filePowers)
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		want[set] = powers // of its own user namespace
	}
	return checkStatus(pid, want)
}
