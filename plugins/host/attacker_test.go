package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/plugins"
)

// attacker is a runtime that was taken over: it runs the code with all the rights of its process, and answers with the outcome.
type attacker struct{ obedient }

func (a attacker) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	name, arg, _ := strings.Cut(req.Code, " ")
	attack, ok := attacks()[name]
	if !ok {
		return plugins.Plan{}, fmt.Errorf("there is no attack %q", name)
	}
	result, err := attack(arg)
	if err != nil {
		result = "refused: " + err.Error()
	}
	return plugins.Plan{Argv: []string{"attack", result}}, nil
}

func attacks() map[string]func(string) (string, error) {
	return map[string]func(string) (string, error){
		"read":     func(path string) (string, error) { data, err := os.ReadFile(path); return string(data), err },
		"write":    func(path string) (string, error) { return "written", os.WriteFile(path, []byte("x"), 0o600) },
		"list":     list,
		"dial":     dial,
		"signal":   func(pid string) (string, error) { return "sent", syscall.Kill(number(pid), 0) },
		"trace":    func(pid string) (string, error) { return "attached", unix.PtraceAttach(number(pid)) },
		"fork":     fork,
		"allocate": allocate,
		"fill":     fill,
		"call":     systemCall,
		"pid":      func(string) (string, error) { return hostPID("self"), nil },
		"run": func(path string) (string, error) {
			out, err := exec.Command(path).CombinedOutput()
			return string(out), err
		},
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func list(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " "), err
}

func dial(target string) (string, error) {
	network, address, _ := strings.Cut(target, " ")
	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return "", err
	}
	return "connected", conn.Close()
}

// fork starts so many processes that stay, and says how many there were before one failed.
func fork(count string) (string, error) {
	var children []*exec.Cmd
	defer func() {
		for _, child := range children {
			_ = child.Process.Kill()
			_ = child.Wait()
		}
	}()
	for range number(count) {
		child := exec.Command("/bin/sleep", "60")
		if err := child.Start(); err != nil {
			break
		}
		children = append(children, child)
	}
	return strconv.Itoa(len(children)), nil
}

// allocate takes so many MiB of memory, and uses them.
func allocate(count string) (string, error) {
	const step = 1 << 20
	for range number(count) {
		memory, err := unix.Mmap(-1, 0, step, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return "", err
		}
		for i := 0; i < step; i += 4096 {
			memory[i] = 1
		}
	}
	return "allocated", nil
}

// fill writes files into a directory until it cannot, and says how many bytes it wrote.
func fill(dir string) (string, error) {
	var files []*os.File
	defer func() {
		for _, file := range files {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	total := 0
	block := make([]byte, 1<<20)
	for i := range 64 {
		file, err := os.Create(filepath.Join(dir, "fill"+strconv.Itoa(i)))
		if err != nil {
			break
		}
		files = append(files, file)
		n, err := file.Write(block)
		if total += n; err != nil {
			break
		}
	}
	return strconv.Itoa(total), nil
}

// systemCall makes a call that changes the process's place on the host, by name.
func systemCall(name string) (string, error) {
	calls := map[string]func() error{
		"mount":    func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
		"umount":   func() error { return unix.Unmount("/usr", unix.MNT_DETACH) },
		"remount":  func() error { return unix.Mount("", "/usr", "", unix.MS_BIND|unix.MS_REMOUNT, "") },
		"unshare":  func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"setns":    func() error { return unix.Setns(0, 0) },
		"chroot":   func() error { return unix.Chroot("/tmp") },
		"setuid":   func() error { return raw(unix.SYS_SETRESUID, 0, 0, 0) },
		"setgid":   func() error { return raw(unix.SYS_SETRESGID, 0, 0, 0) },
		"mknod":    func() error { return unix.Mknod("/tmp/mem", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1))) },
		"bpf":      func() error { return raw(unix.SYS_BPF, 0, 0, 0) },
		"keyctl":   func() error { return raw(unix.SYS_KEYCTL, 0, 0, 0) },
		"io_uring": func() error { return raw(unix.SYS_IO_URING_SETUP, 1, 0, 0) },
		"perf":     func() error { return raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
		"packet":   func() error { _, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); return err },
		"netlink":  func() error { _, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0); return err },
		"tcp":      func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err },
		"vm_read":  func() error { return raw(unix.SYS_PROCESS_VM_READV, 1, 0, 0) },
		"core":     func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) },
		"handle":   func() error { return raw(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0) },
		"reboot":   func() error { return raw(unix.SYS_REBOOT, 0, 0, 0) },
		"userfd":   func() error { return raw(unix.SYS_USERFAULTFD, 0, 0, 0) },
	}
	call, ok := calls[name]
	if !ok {
		return "", errors.New("there is no such call")
	}
	return "done", call()
}

func raw(number, a, b, c uintptr) error {
	if _, _, errno := syscall.RawSyscall(number, a, b, c); errno != 0 {
		return errno
	}
	return nil
}
