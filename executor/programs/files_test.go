package programs_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/doctor"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/test/testutil"
)

// fileServers lists the servers of files that this process has started.
func fileServers(t *testing.T) []doctor.Process {
	t.Helper()
	all, err := doctor.Processes()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p doctor.Process) bool { return p.Program != confine.FileServer || p.Parent != os.Getpid() })
}

// TestFilesAreServedWithoutPower: by a process of which the next one takes the place when it is killed.
func TestFilesAreServedWithoutPower(t *testing.T) {
	const user = confine.FileServerID + 1000
	top := t.TempDir() // with parents that are root's alone
	if err := errors.Join(os.Chmod(top, 0o700), os.Chown(top, user, user)); err != nil {
		t.Fatal(err)
	}
	local := programs.New(programs.Config{Files: testutil.Build(t).Files})
	t.Cleanup(local.Close)
	client := files.NewClient(programs.FileServers{By: local, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}.Connect)
	t.Cleanup(func() { client.Close() })
	file, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir, err := client.Open(file, func() (*os.File, error) { return os.Open(top) }, user, user)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := dir.Write("a/b", strings.NewReader("one"), 10, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Chmod("a/b", 0o600); err != nil {
		t.Error(err)
	}
	servers := fileServers(t)
	if len(servers) != 1 {
		t.Fatalf("there are %d servers of files, want 1", len(servers))
	}
	p := servers[0]
	if p.UID != confine.FileServerID || strings.Join(p.Capabilities, " ") != "setgid setuid" || !p.NoNewPrivs || p.Filters != 1 {
		t.Errorf("the server of files has other power: %+v", p)
	}
	if got, want := strings.Join(p.Namespaces, " "), "user mnt pid net ipc uts"; got != want {
		t.Errorf("its namespaces are %s, want %s", got, want)
	}
	if err := unix.Kill(p.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	list, err := dir.List(t.Context(), ".", yurt.ListOptions{Depth: 2, Limit: 10})
	if err != nil || len(list.Files) != 2 {
		t.Errorf("after a kill the list is %+v, %v", list.Files, err)
	}
	if next := fileServers(t); len(next) != 1 || next[0].PID == p.PID {
		t.Errorf("after a kill the servers of files are %+v", next)
	}
	local.EndAll()
	if left := fileServers(t); len(left) != 0 {
		t.Errorf("at the end of their executor the servers of files are %+v", left)
	}
}

// TestFileServersThatDoNotBegin are an error, and leave no process.
func TestFileServersThatDoNotBegin(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := errors.Join(os.WriteFile(broken, []byte("no program"), 0o600), os.Chmod(broken, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"no program": broken, "one that ends at once": testutil.Build(t).Init, "one that is missing": "/nonexistent"} {
		local := programs.New(programs.Config{Files: path})
		if _, err := local.StartFiles(); err == nil {
			t.Errorf("%s: want an error", name)
		}
		local.Close()
		if left := fileServers(t); len(left) != 0 {
			t.Errorf("%s left %+v", name, left)
		}
	}
}
