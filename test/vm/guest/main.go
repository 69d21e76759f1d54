//go:build linux

// Command guest is the first process of the test's virtual machine. It turns the bare kernel into a
// host that looks to Yurt like one with systemd: the machine's root file system, read-only, with
// writable directories in memory where hosts have them, and one cgroup v2 tree with every
// controller. Then it runs the tests, says how they ended, and switches the machine off.
//
// Package vm packs it into the machine's initial file system; it has no other use.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The parts of the contract with package vm.
const (
	report  = "/dev/ttyS1" // where the tests' output goes, and then the verdict
	verdict = "guest: tests exited with "
	workDir = "/run/vm" // the machine's input: the tests and their programs
)

func main() {
	err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
	}
	unix.Sync()
	// The last process of a machine does not return.
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Fprintln(os.Stderr, "guest: switching off:", err)
	}
	time.Sleep(time.Minute)
}

func run() error {
	for _, step := range []func() error{loadModules, mountRoot, enterRoot, loadPolicy, makeCgroups, loopbackUp} {
		if err := step(); err != nil {
			return err
		}
	}
	return runTests()
}

// loadModules loads the modules that package vm put there, in the order of the names.
func loadModules() error {
	files, err := filepath.Glob("/modules/*")
	if err != nil {
		return err
	}
	for _, path := range files {
		if err := loadModule(path); err != nil {
			return fmt.Errorf("loading %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

func loadModule(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.FinitModule(int(file.Fd()), "", 0)
}

// mount is one line of the machine's file systems.
type mount struct {
	source, target, kind string
	flags                uintptr
	options              string
}

// mountRoot puts the machine's file systems together below /root.
func mountRoot() error {
	share := func(tag, target string) mount {
		return mount{tag, target, "9p", unix.MS_RDONLY, "trans=virtio,version=9p2000.L,msize=512000,cache=loose"}
	}
	memory := func(target, mode string) mount {
		return mount{"tmpfs", target, "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=" + mode}
	}
	return mountAll("/root",
		share("root", "/"),
		mount{"proc", "/proc", "proc", 0, ""},
		mount{"sysfs", "/sys", "sysfs", 0, ""},
		mount{"securityfs", "/sys/kernel/security", "securityfs", 0, ""},
		mount{"cgroup2", "/sys/fs/cgroup", "cgroup2", 0, "nsdelegate,memory_recursiveprot"},
		mount{"devtmpfs", "/dev", "devtmpfs", 0, ""},
		memory("/tmp", "1777"),
		memory("/run", "0755"),
		memory("/var", "0755"),
		memory("/root", "0700"),
		// A tree of version 1 that has no controller, as some programs leave one.
		mount{"cgroup", "/run/cgroup-v1", "cgroup", 0, "none,name=other"},
		share("work", workDir),
	)
}

func mountAll(root string, mounts ...mount) error {
	for _, m := range mounts {
		target := filepath.Join(root, m.target)
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.source, target, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("mounting %s at %s: %w", m.kind, m.target, err)
		}
	}
	return nil
}

// enterRoot makes /root the root. It is moved, not pivoted to, as the kernel wants
// it for the initial file system.
func enterRoot() error {
	if err := os.Chdir("/root"); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("moving the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	// As systemd does: later mounts are seen by namespaces made before.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("sharing the root: %w", err)
	}
	return os.Chdir("/")
}

// loadPolicy loads the policy of SELinux's that the machine was given, if any.
func loadPolicy() error {
	policy, err := os.ReadFile(filepath.Join(workDir, "policy"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const kernel = "/sys/fs/selinux"
	if err := unix.Mount("selinuxfs", kernel, "selinuxfs", 0, ""); err != nil {
		return fmt.Errorf("mounting selinuxfs: %w", err)
	}
	if err := os.WriteFile(filepath.Join(kernel, "load"), policy, 0); err != nil {
		return fmt.Errorf("loading the policy: %w", err)
	}
	return nil
}

// group is where the tests run: on a host with systemd a service never is in the
// root of the tree.
const group = "/sys/fs/cgroup/system.slice/yurt-test.service"

// makeCgroups lays the tree out as systemd does.
func makeCgroups() error {
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"/sys/fs/cgroup", filepath.Dir(group)} {
		file := filepath.Join(dir, "cgroup.subtree_control")
		if err := os.WriteFile(file, []byte("+cpu +memory +pids"), 0); err != nil {
			return err
		}
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bringing lo up: %w", err)
	}
	return unix.Sethostname([]byte("vm"))
}

// readWords reads a file of the work directory, a word a line.
func readWords(name string) ([]string, error) {
	words, err := os.ReadFile(filepath.Join(workDir, name))
	if err != nil {
		return nil, fmt.Errorf("reading what to run: %w", err)
	}
	return strings.Split(string(words), "\n"), nil
}

// runTests runs the command that is in the work directory, and reports its output
// and how it ended.
func runTests() error {
	args, err := readWords("command")
	if err != nil {
		return err
	}
	env, err := readWords("environment")
	if err != nil {
		return err
	}
	out, err := os.OpenFile(report, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	dir, err := os.Open(group)
	if err != nil {
		return err
	}
	defer dir.Close()
	status, err := runAsInit(args, env, out, int(dir.Fd()))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s%d\n", verdict, status.ExitStatus())
	return err
}

// runAsInit runs the command in the cgroup and returns how it ended. Meanwhile it reaps orphans, as
// a first process must.
func runAsInit(args, env []string, out *os.File, group int) (syscall.WaitStatus, error) {
	pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{
		Dir:   "/tmp",
		Env:   append(env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TMPDIR=/tmp"),
		Files: []uintptr{0, out.Fd(), out.Fd()},
		Sys:   &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: group},
	})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", args[0], err)
	}
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		if ended == pid || err != nil && !errors.Is(err, syscall.EINTR) {
			return status, err
		}
	}
}
