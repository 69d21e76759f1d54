package files_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// The test's own program is the process that serves files, or hostile code in its place.
const (
	roleKey   = "YURT_TEST_FILES_ROLE"
	canaryKey = "YURT_TEST_FILES_CANARY"
)

var sandboxIDs = files.Range{First: 1879048192, Count: 65536} //nolint:gochecknoglobals // as a constant

// asProcess plays a role, and returns text about it.
func asProcess(role string) string {
	switch role {
	case "server":
		socket, err := packet.Open(os.NewFile(3, "socket"))
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(files.Serve(context.Background(), socket, sandboxIDs))
	case "hostile":
		return hostile(os.Getenv(canaryKey))
	default:
		return "there is no role " + role
	}
}

// hostile tries to get at the host, and returns the attempts that succeeded. None of them changes anything.
func hostile(canary string) string {
	var done []string
	try := func(name string, err error) {
		if err == nil {
			done = append(done, name)
		}
	}
	_, err := os.ReadFile(canary)
	try("read the canary", err)
	_, err = os.ReadDir("/root")
	try("list /root", err)
	try("signal its parent", unix.Kill(os.Getppid(), 0))
	_, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
	try("read its parent's environment", err)
	try("become root", unix.Setresuid(0, 0, 0))
	if old, err := unix.SetfsuidRetUid(0); err == nil && old != 0 {
		now, _ := unix.SetfsuidRetUid(-1)
		if now == 0 {
			done = append(done, "use files as root")
		}
	}
	try("connect", func() error {
		conn, err := net.DialTimeout("tcp", os.Getenv("YURT_TEST_FILES_ADDRESS"), time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	}())
	return strings.Join(done, ", ")
}

// start starts the test's program in a role.
func start(t *testing.T, role string, out *strings.Builder, extra []*os.File, env ...string) (*exec.Cmd, func() error) {
	t.Helper()
	if testing.Short() {
		t.Skip("makes namespaces; run without -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A copy, since its own directory may be root's alone.
	copied := filepath.Join(publicDir(t), "program")
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: copied, Args: []string{"yurt-files"}, Env: append(env, roleKey+"="+role), Dir: "/", ExtraFiles: extra, Stdout: out, Stderr: out}
	wait, err := files.Start(cmd, sandboxIDs)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, wait
}

// publicDir returns a directory that all users reach.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "yurt-files-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTakenOverProcessReachesNothing(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var out strings.Builder
	_, wait := start(t, "hostile", &out, nil, canaryKey+"="+canary, "YURT_TEST_FILES_ADDRESS="+listener.Addr().String())
	if err := wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if got := strings.TrimSpace(out.String()); got != "" {
		t.Errorf("code that runs as the process could: %s", got)
	}
	if got := hostile(canary); !strings.Contains(got, "read the canary") {
		t.Errorf("root could only: %s; so the test shows less than it says", got)
	}
}

// TestProcessServesWithoutPowerOverTheHost kills the process, and goes on with the next one.
func TestProcessServesWithoutPowerOverTheHost(t *testing.T) {
	top := t.TempDir() // with parents that are root's alone
	if err := errors.Join(os.Chmod(top, 0o700), os.Chown(top, testUser, testUser)); err != nil {
		t.Fatal(err)
	}
	var last *exec.Cmd
	var waits []func() error
	var out strings.Builder
	client := files.NewClient(func() (*net.UnixConn, error) {
		ours, theirs, err := packet.Pair("test")
		if err != nil {
			return nil, err
		}
		defer theirs.Close()
		cmd, wait := start(t, "server", &out, []*os.File{theirs})
		last, waits = cmd, append(waits, wait)
		return ours, nil
	})
	file, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir, err := client.Open(file, testUser, testUser)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Write("a/b", strings.NewReader("one"), 10, 0); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if err := last.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := waits[0](); err == nil {
		t.Error("the process ended in an orderly way")
	}
	list, err := dir.List(t.Context(), ".", yurt.ListOptions{Depth: 2, Limit: 10})
	if err != nil || len(list.Files) != 2 || len(waits) != 2 {
		t.Errorf("after a kill the list is %+v, %v, with %d processes", list.Files, err, len(waits))
	}
	if err := errors.Join(dir.Close(), client.Close(), waits[1]()); err != nil {
		t.Error(err)
	}
}
