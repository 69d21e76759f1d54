package confine

import (
	"fmt"
	"runtime"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// newNamespaces are the flags by which clone makes namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// powerful are system calls that the executor never makes, by their purpose: mounts, namespaces, other processes, files without a path, the
// kernel's programs and modules, keys, calls with a history of flaws, and the state of the host.
func powerful() []string {
	return []string{
		"mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
		"setns", "unshare",
		"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
		"open_by_handle_at", "fanotify_init",
		"bpf", "perf_event_open", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load",
		"add_key", "request_key", "keyctl",
		"userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
		"reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday", "clock_settime", "sethostname", "setdomainname",
	}
}

// RefuseCalls lets the calling thread, and the programs that it starts, make no powerful system call and no namespace, for good. The thread
// has no_new_privs.
func RefuseCalls() error {
	info, err := arch.GetInfo("")
	if err != nil {
		return fmt.Errorf("looking up the system calls of %s: %w", runtime.GOARCH, err)
	}
	filter, err := refusal(info, powerful())
	if err != nil {
		return err
	}
	return loadFilter(filter)
}

// refusal makes the filter that refuses the calls with EPERM and allows all others, by their numbers on an architecture. Glibc goes on with
// clone where clone3, whose flags a filter cannot read, is unknown. Calls of another architecture end the process.
func refusal(info *arch.Info, names []string) ([]unix.SockFilter, error) {
	for _, name := range append([]string{"clone", "clone3"}, names...) {
		if _, ok := info.SyscallNames[name]; !ok {
			return nil, fmt.Errorf("the system call %s of %s is not known", name, info.Name)
		}
	}
	number := func(name string) uint32 { return uint32(info.SyscallNames[name]) }
	refused := ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	program := []unix.SockFilter{
		load(offsetArch), jump(unix.BPF_JEQ, uint32(info.ID), 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber), jump(unix.BPF_JGE, x32Bit, 0, 1), ret(unix.SECCOMP_RET_KILL_PROCESS),
		jump(unix.BPF_JEQ, number("clone3"), 0, 1), ret(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
	}
	for _, name := range names {
		program = append(program, jump(unix.BPF_JEQ, number(name), 0, 1), refused)
	}
	return append(program,
		jump(unix.BPF_JEQ, number("clone"), 0, 3), load(offsetArgs), and(newNamespaces), jump(unix.BPF_JEQ, 0, 0, 1),
		ret(unix.SECCOMP_RET_ALLOW), refused), nil
}
