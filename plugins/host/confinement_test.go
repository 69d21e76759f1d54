package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/idrange"
)

// attack has the runtime of a host try it, and returns how it went.
func attack(t *testing.T, h *Host, what string) string {
	t.Helper()
	return mustPlan(t, h, "attacker", what).Argv[1]
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test takes power from processes and needs root")
	}
}

// TestTakenOverRuntimeReadsNothing puts canaries where a runtime must not reach.
func TestTakenOverRuntimeReadsNothing(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	h := newHost(t, pluginDir(t, "attacker"))
	own, err := os.CreateTemp("/root", "yurt-canary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(own.Name()); own.Close() })
	world, err := os.CreateTemp("/var/tmp", "yurt-canary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(world.Name()); world.Close() })
	for _, file := range []*os.File{own, world} {
		if _, err := file.WriteString("canary"); err != nil {
			t.Fatal(err)
		}
	}
	if err := world.Chmod(0o666); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(os.Getpid())
	for _, path := range []string{
		own.Name(), world.Name(), "/proc/" + pid + "/root" + world.Name(), "/proc/1/root" + world.Name(), "/proc/self/root/../.." + world.Name(),
		"/etc/passwd", "/etc/shadow", "/proc/" + pid + "/environ", "/proc/kcore", "/proc/cmdline", "/proc/sys/kernel/hostname", "/sys/kernel/uevent_seqnum",
		"/dev/mem", "/run/utmp",
	} {
		if got := attack(t, h, "read "+path); !strings.HasPrefix(got, "refused: ") {
			t.Errorf("%s was read: %q", path, got)
		}
	}
	for _, path := range []string{
		world.Name(), "/x", "/usr/x", "/program/x", "/dev/x", "/proc/self/mem", "/proc/self/oom_score_adj", "/proc/self/coredump_filter", "/etc/ld.so.preload",
	} {
		if got := attack(t, h, "write "+path); !strings.HasPrefix(got, "refused: ") {
			t.Errorf("%s was written: %q", path, got)
		}
	}
	if got := attack(t, h, "write /tmp/x"); got != "written" {
		t.Errorf("its own directory: %s", got)
	}
	if got := strings.Fields(attack(t, h, "list /")); len(got) > 12 || slices.Contains(got, "root") || slices.Contains(got, "home") || slices.Contains(got, "var") {
		t.Errorf("it sees at the root: %v", got)
	}
	if got := attack(t, h, "list /proc"); len(strings.Fields(got)) > 3 { // its own process, self and thread-self
		t.Errorf("it sees processes: %s", got)
	}
}

// TestTakenOverRuntimeReachesNobody has sockets and a process of the host in front of a runtime.
func TestTakenOverRuntimeReachesNobody(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	dir := pluginDir(t, "attacker")
	h, other := newHost(t, dir), newHost(t, dir)
	temp := t.TempDir()
	abstract := fmt.Sprintf("@yurt-test-%d", os.Getpid())
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(temp, "s"), "unixpacket": abstract} {
		listener, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		if network == "unix" {
			if err := errors.Join(os.Chmod(address, 0o777), os.Chmod(temp, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		target := network + " " + listener.Addr().String()
		if conn, err := net.Dial(network, listener.Addr().String()); err != nil {
			t.Fatalf("the test itself does not reach %s: %v", target, err)
		} else {
			conn.Close()
		}
		if got := attack(t, h, "dial "+target); !strings.HasPrefix(got, "refused: ") {
			t.Errorf("it reached %s: %s", target, got)
		}
	}
	neighbour := attack(t, other, "pid")
	for _, pid := range []string{strconv.Itoa(os.Getpid()), neighbour, strconv.Itoa(os.Getppid())} {
		for _, verb := range []string{"signal", "trace"} {
			if got := attack(t, h, verb+" "+pid); !strings.HasPrefix(got, "refused: ") {
				t.Errorf("%s to process %s of the host: %s", verb, pid, got)
			}
		}
	}
}

// TestTakenOverRuntimeMakesNoCall tries calls by which a process changes its place on the host.
func TestTakenOverRuntimeMakesNoCall(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	h := newHost(t, pluginDir(t, "attacker"))
	for _, call := range []string{
		"mount", "umount", "remount", "unshare", "setns", "chroot", "setuid", "setgid", "mknod", "bpf", "keyctl", "io_uring", "perf", "packet", "netlink",
		"tcp", "vm_read", "core", "handle", "reboot", "userfd",
	} {
		got := attack(t, h, "call "+call)
		if !strings.HasPrefix(got, "refused: ") || strings.Contains(got, "no such call") || strings.Contains(got, "bad address") {
			t.Errorf("%s: %s", call, got)
		}
	}
	if got := attack(t, h, "run /usr/bin/id"); !strings.Contains(got, "uid=") || strings.Contains(got, "root") { // programs of the host may run, in its place
		t.Errorf("id says %s", got)
	}
}

// TestTakenOverRuntimeStaysWithinItsBounds has it take all that it can.
func TestTakenOverRuntimeStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	h := newHost(t, pluginDir(t, "attacker", "zgood"), WithRestartLimit(10, 0))
	if n := number(attack(t, h, "fork 200")); n < 1 || n > confine.Processes {
		t.Errorf("it started %d processes", n)
	}
	if n := number(attack(t, h, "fill /tmp")); n < 1<<20 || n > 16<<20 {
		t.Errorf("it wrote %d bytes", n)
	}
	if got := attack(t, h, "allocate 100"); got != "allocated" {
		t.Errorf("less than its memory: %s", got)
	}
	_, err := h.Plan(t.Context(), request("attacker", "allocate 300"))
	wantError(t, err, yurt.CodeRuntimeUnavailable, "more memory than the 256Mi")
	mustPlan(t, h, "zgood", "ok")
	if got := attack(t, h, "allocate 1"); got != "allocated" {
		t.Errorf("after its restart: %s", got)
	}
}

// TestRuntimeHasNoPower reads the kernel's account of a runtime's process.
func TestRuntimeHasNoPower(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	leak, err := unix.Open("/root", unix.O_RDONLY, 0) // not close-on-exec, as a descriptor may be with which Yurt was started
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(leak) })
	h := newHost(t, pluginDir(t, "attacker"))
	pid := attack(t, h, "pid")
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string][]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Fields(value)
	}
	for _, name := range []string{"Uid", "Gid"} {
		if ids := slices.Compact(fields[name]); len(ids) != 1 || number(ids[0]) < idrange.Programs || number(ids[0]) >= idrange.End {
			t.Errorf("%s %v", name, fields[name])
		}
	}
	for name, want := range map[string]string{
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapBnd": "0000000000000000", "CapAmb": "0000000000000000",
		"NoNewPrivs": "1", "Seccomp": "2", "Groups": "",
	} {
		if got := strings.Join(fields[name], " "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	descriptors, err := filepath.Glob("/proc/" + pid + "/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range descriptors {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "/") && target != "/dev/null" {
			t.Errorf("descriptor %s is %s", filepath.Base(fd), target)
		}
	}
	for _, kind := range []string{"mnt", "net", "pid", "ipc", "uts"} {
		mine, err := os.Readlink("/proc/self/ns/" + kind)
		its, err2 := os.Readlink("/proc/" + pid + "/ns/" + kind)
		if err := errors.Join(err, err2); err != nil || mine == its {
			t.Errorf("namespace %s is %s, the host's is %s: %v", kind, its, mine, err)
		}
	}
}

// TestHostConnectsToNoOtherSocket has runtimes say that they listen where others do.
func TestHostConnectsToNoOtherSocket(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	for name, want := range map[string]string{"elsewhere": "not in its directory", "linked": "not a socket", "overtcp": "not in its directory", "nowhere": "does not listen"} {
		h := newHost(t, pluginDir(t, name))
		_, err := h.Plan(t.Context(), request(name, ""))
		wantError(t, err, yurt.CodeRuntimeIncompatible, want)
	}
}

// TestRuntimesThatCannotBeConfined are not started.
func TestRuntimesThatCannotBeConfined(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	dir := pluginDir(t, "good")
	_, err := newHost(t, dir, WithConfinement(nil)).Plan(t.Context(), request("good", "ok"))
	wantError(t, err, yurt.CodeRuntimeUnavailable, "not started", "has power over the host")

	copyRuntime(t, dir, "owners")
	if err := os.Chmod(filepath.Join(dir, "yurt-runtime-owners"), 0o750); err != nil {
		t.Fatal(err)
	}
	_, err = newHost(t, dir).Plan(t.Context(), request("owners", "ok"))
	wantError(t, err, yurt.CodeRuntimeUnavailable, "not started", "chmod o+rx")
}
