package confine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// namespaces are those that a program has of its own. The first process that the thread starts is the first one of its
// namespace of processes: with it all of them end.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// kept are the capabilities that the thread needs to start a program as another user, and to end it. The program loses them.
const kept = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL | 1<<unix.CAP_SYS_PTRACE

// giveUpPower takes from the calling thread, for good, all that a program must not inherit: capabilities, files, system calls.
func giveUpPower(filter []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing the ambient capabilities: %w", err)
	}
	for capability := uintptr(0); capability < 64; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // the kernel has no more
		}
		if err != nil {
			return fmt.Errorf("dropping capability %d: %w", capability, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: kept, Permitted: kept}}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := restrictFiles(); err != nil {
		return err
	}
	return loadFilter(filter)
}

// limits returns the limits of a program beside those of its cgroup. At 1 byte the kernel makes no core dump and starts no program
// of the host's to take one.
func limits(fileBytes uint64) map[int]uint64 {
	return map[int]uint64{
		unix.RLIMIT_CORE: 1, unix.RLIMIT_NOFILE: 1024, unix.RLIMIT_FSIZE: fileBytes, unix.RLIMIT_MEMLOCK: 64 << 10,
		unix.RLIMIT_MSGQUEUE: 0, unix.RLIMIT_SIGPENDING: 1024, unix.RLIMIT_RTPRIO: 0, unix.RLIMIT_NICE: 0,
	}
}

// limit sets the limits of the process, as its own user: root of a container may lack the capability to do so.
func limit(pid int, id uint32, fileBytes uint64) (err error) {
	lockedthread.Run(func() {
		for _, call := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
			if _, _, errno := unix.RawSyscall(call, uintptr(id), uintptr(id), uintptr(id)); errno != 0 {
				err = fmt.Errorf("becoming the user of a program: %w", errno)
				return
			}
		}
		err = limitAsUser(pid, fileBytes)
	})
	return err
}

func limitAsUser(pid int, fileBytes uint64) error {
	for resource, value := range limits(fileBytes) {
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil {
			return fmt.Errorf("setting limit %d of a program: %w", resource, err)
		}
	}
	return nil
}

// checkPowerless reads in /proc that the process has the user id alone, no capability and the filter.
func checkPowerless(pid int, id uint32) error {
	want := identityOf(id)
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		want[set] = strings.Repeat("0", 16)
	}
	return checkStatus(pid, want)
}

// identityOf returns fields of /proc/PID/status of a program with the user id alone, under a filter.
func identityOf(id uint32) map[string]string {
	own := fmt.Sprintf("%[1]d %[1]d %[1]d %[1]d", id)
	return map[string]string{"Uid": own, "Gid": own, "Groups": "", "NoNewPrivs": "1", "Seccomp": "2"}
}

// checkStatus compares fields of /proc/PID/status.
func checkStatus(pid int, want map[string]string) error {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return fmt.Errorf("looking at a program: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.Join(strings.Fields(value), " ")
		if wanted, ok := want[field]; ok && value != wanted {
			return fmt.Errorf("the program has %s %q and must have %q", field, value, wanted)
		}
		delete(want, field)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("looking at a program: %w", err)
	}
	if len(want) > 0 {
		return fmt.Errorf("the kernel does not say of a program: %v", want)
	}
	return nil
}
