package node_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func withHost(host yurt.HostAccess) func(*yurt.SandboxSpec) {
	return func(s *yurt.SandboxSpec) { s.Host = &host }
}

// A mount shows the node's files with their own IDs. The sandbox's users have the same numbers, and files that they
// write belong to the same user on the node.
func TestMounts(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	base := t.TempDir()
	for _, dir := range []string{"shared", "fixed", "fixed/deep"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, id := range map[string]int{"shared/of-root": 0, "shared/of-user": 1000, "fixed/deep/file": 0} {
		path := filepath.Join(base, file)
		if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, id, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(base, "shared"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := testutil.Create(t, e, withHost(yurt.HostAccess{CPUWeight: 50, Mounts: []yurt.Mount{
		{Source: filepath.Join(base, "shared"), Target: "/data"},
		{Base: base, Source: "fixed", Target: "/opt/in/side", ReadOnly: true},
		{Source: filepath.Join(base, "shared/of-root"), Target: "/etc/hosts", ReadOnly: true},
	}}))
	r := testutil.Run(t, e, s.ID, "cd /data && stat -c '%n %u' of-root of-user && echo new > new && cat /opt/in/side/deep/file /etc/hosts && mkdir sub && echo x > sub/file && mv sub/file moved")
	root, user := 0, 1000
	if !mapsIDs(t, base) { // then they are nobody's, as the sandbox sees it
		root, user = 65534, 65534
	}
	if want := fmt.Sprintf("of-root %d\nof-user %d\nfixed/deep/fileshared/of-root", root, user); r.Stdout != want || r.ExitCode != 0 {
		t.Fatalf("inside: %q %q %+v, want %q", r.Stdout, r.Stderr, r.Error, want)
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(filepath.Join(base, "shared/new"), &stat); err != nil || mapsIDs(t, base) && stat.Uid != 1000 {
		t.Errorf("what was made inside is user %d's, %v", stat.Uid, err)
	}
	for _, line := range []string{
		"echo x > /opt/in/side/new", "echo x > /opt/in/side/deep/file", "echo x > /etc/hosts", "echo x > /data/of-root", "chmod u+s /data/new && mknod /data/null c 1 3",
	} {
		if r := testutil.Run(t, e, s.ID, line); r.ExitCode == 0 {
			t.Errorf("%s was possible", line)
		}
	}
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(base, "fixed/deep/file")); err != nil || string(data) != "fixed/deep/file" {
		t.Errorf("after all, the node's file holds %q, %v", data, err)
	}
}

// mapsIDs reports whether the kernel can map ids of the file system: files in memory have
// that since Linux 6.3.
func mapsIDs(t *testing.T, dir string) bool {
	t.Helper()
	var stat unix.Statfs_t
	var uname unix.Utsname
	if err := errors.Join(unix.Statfs(dir, &stat), unix.Uname(&uname)); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(uname.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return stat.Type != unix.TMPFS_MAGIC || major > 6 || major == 6 && minor >= 3
}

// Mounts that the node made after the start of the executor are visible too.
func TestMountsOfMounts(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	testutil.Create(t, e) // for which the launcher is started
	base := t.TempDir()
	if err := unix.Mount("late", base, "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(base, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for file, mode := range map[string]os.FileMode{"open": 0o644, "closed": 0o600} {
		if err := os.WriteFile(filepath.Join(base, file), []byte(file+"\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	s := testutil.Create(t, e, withHost(yurt.HostAccess{Mounts: []yurt.Mount{{Source: base, Target: "/late"}}}))
	r := testutil.Run(t, e, s.ID, "cat /late/open; cat /late/closed")
	if r.Stdout != "open\n" || r.ExitCode == 0 {
		t.Errorf("inside: %q %q, exit %d", r.Stdout, r.Stderr, r.ExitCode)
	}
}

// A sandbox cannot redirect a mount by files at its target.
func TestMountsThatAreRefused(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	base := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]yurt.Mount{
		"through a link":  {Base: base, Source: "link", Target: "/x"},
		"beyond a link":   {Base: base, Source: "link/ssl", Target: "/x"},
		"upwards":         {Base: base, Source: "../x", Target: "/x"},
		"relative":        {Source: "etc", Target: "/x"},
		"missing":         {Source: filepath.Join(base, "none"), Target: "/x"},
		"a device":        {Source: "/dev/null", Target: "/x", ReadOnly: true},
		"a writable file": {Source: filepath.Join(base, "file"), Target: "/x"},
		"onto proc":       {Source: base, Target: "/proc/self"},
		"onto workspace":  {Source: base, Target: "/workspace/x"},
		"below the host":  {Source: base, Target: "/usr/no-such-place"},
	} {
		spec := testutil.Spec()
		spec.Host = &yurt.HostAccess{Mounts: []yurt.Mount{m}}
		if _, err := e.CreateSandbox(t.Context(), spec); err == nil {
			t.Errorf("%s: it was made", name)
		}
	}
}

// A sandbox joins the namespace that it is given.
func TestNetworkNamespace(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	path, own := heldNamespace(t)
	s := testutil.Create(t, e, withHost(yurt.HostAccess{NetworkNamespace: path}))
	if r := testutil.Run(t, e, s.ID, "readlink /proc/self/ns/net"); strings.TrimSpace(r.Stdout) != own {
		t.Errorf("it is in %q, want %q: %s", r.Stdout, own, r.Stderr)
	}
	node, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	s = testutil.Create(t, e, withHost(yurt.HostAccess{NetworkNamespace: yurt.NodeNetwork}))
	if r := testutil.Run(t, e, s.ID, "readlink /proc/self/ns/net"); strings.TrimSpace(r.Stdout) != node {
		t.Errorf("it is in %q, and the node in %q: %s", r.Stdout, node, r.Stderr)
	}
}

// A sandbox that has processors runs on no others.
func TestProcessors(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	last := runtime.NumCPU() - 1
	s := testutil.Create(t, e, withHost(yurt.HostAccess{CPUs: []int{last}}))
	const list = "sed -n 's/^Cpus_allowed_list:[ \t]*//p' /proc/self/status"
	if r := testutil.Run(t, e, s.ID, list); r.Stdout != fmt.Sprintln(last) {
		t.Errorf("it runs on %q, want %d: %s", r.Stdout, last, r.Stderr)
	}
	spec := testutil.Spec()
	for _, cpus := range [][]int{{-1}, {yurt.MaxCPUs}, {yurt.MaxCPUs - 1}} {
		spec.Host = &yurt.HostAccess{CPUs: cpus}
		_, err := e.CreateSandbox(t.Context(), spec)
		if code := yurt.CodeOf(err); code != yurt.CodeLimitOutOfRange && code != yurt.CodeLimitNotEnforceable {
			t.Errorf("processors %d: %v", cpus, err)
		}
	}
	spec.Host = nil // the remains of the refused sandboxes are gone, and so their names are free
	after, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if one, other := parentOf(t, s.PID), parentOf(t, after.PID); one != other { // it was killed, as it waited for cgroups
		t.Errorf("the launcher was %s and is %s", one, other)
	}
}

// A sandbox without processors of its own runs on any of them, and so does its init, which was kept on one while it
// was started.
func TestAnyProcessor(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	want := anyProcessor(t)
	if r := testutil.Run(t, e, s.ID, "grep ^Cpus_allowed_list: /proc/self/status"); r.Stdout != want {
		t.Errorf("it runs on %q, want %q: %s", r.Stdout, want, r.Stderr)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", s.PID))
	if err != nil || len(threads) < 2 {
		t.Fatalf("threads of init: %d, %v", len(threads), err)
	}
	for _, status := range threads {
		if got := allowedIn(t, status); got != want {
			t.Errorf("a thread of init runs on %q, want %q", got, want)
		}
	}
}

// anyProcessor returns how the kernel names the processors of a thread that may run on any.
func anyProcessor(t *testing.T) (list string) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock
		var all unix.CPUSet
		all.Fill()
		if err := unix.SchedSetaffinity(0, &all); err != nil {
			done <- err
			return
		}
		list = allowedIn(t, "/proc/thread-self/status")
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return list
}

func allowedIn(t *testing.T, status string) string {
	t.Helper()
	data, err := os.ReadFile(status)
	if err != nil {
		t.Error(err)
	}
	_, list, _ := strings.Cut(string(data), "Cpus_allowed_list:")
	list, _, _ = strings.Cut(list, "\n")
	return "Cpus_allowed_list:" + list + "\n"
}

// parentOf returns the number of the process's parent.
func parentOf(t *testing.T, pid int) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "\nPPid:\t")
	parent, _, _ := strings.Cut(after, "\n")
	return parent
}

// heldNamespace makes a network namespace that lasts as long as the test.
func heldNamespace(t *testing.T) (path, name string) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	path = fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid)
	name, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, name
}
