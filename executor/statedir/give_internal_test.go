package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/rundir"
)

// put makes files, with their directories.
func put(t *testing.T, dir string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// wantOwners compares the owners of files.
func wantOwners(t *testing.T, dir string, owners map[string]int) {
	t.Helper()
	for path, want := range owners {
		info, err := os.Lstat(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := rundir.OwnerOf(info); got != want {
			t.Errorf("%s is user %d's, want %d", path, got, want)
		}
	}
}

func needsRoot(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("gives files to another user, which needs root; run without -short")
	}
}

// TestGivesDirectoriesOfAnOlderVersion: the executor was root then. The broker's own, disks and others' files stay as they are.
func TestGivesDirectoriesOfAnOlderVersion(t *testing.T) {
	needsRoot(t)
	state, base := t.TempDir(), t.TempDir()
	runDir := filepath.Join(base, CgroupName(state))
	put(t, state, "lock", "launcher.lock", "format", "slots/one.json", "yurt.db", "yurt.db-wal", "mine.key", "sandboxes/sbx_1/runs/1",
		"sandboxes/sbx_1/workspace.img", "sandboxes/sbx_1/workspace/its", "tested-runtime/x")
	if err := errors.Join(os.Chown(filepath.Join(state, "sandboxes/sbx_1/workspace"), idrange.First+1000, idrange.First+1000), os.Remove(filepath.Join(state, "format"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(runDir, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, runDir, "sandboxes/sbx_1/sandbox.json", "sandboxes/sbx_1/packages/python/x")
	for range 2 { // the second time there is little to do
		if err := LayOut(state, runDir, "v1", false, idrange.Executor); err != nil {
			t.Fatal(err)
		}
	}
	const executor = idrange.Executor
	wantOwners(t, state, map[string]int{
		".": executor, "lock": 0, "launcher.lock": 0, "slots/one.json": executor, "yurt.db": executor, "yurt.db-wal": executor, "mine.key": 0, "disks": 0,
		"sandboxes/sbx_1": executor, "sandboxes/sbx_1/runs/1": executor, "sandboxes/sbx_1/workspace.img": 0,
		"sandboxes/sbx_1/workspace": idrange.First + 1000, "sandboxes/sbx_1/workspace/its": 0, "tested-runtime": 0, "tested-runtime/x": 0,
	})
	wantOwners(t, base, map[string]int{
		CgroupName(state): 0, CgroupName(state) + "/sandboxes/sbx_1/sandbox.json": executor, CgroupName(state) + "/sandboxes/sbx_1/packages/python/x": executor,
		CgroupName(state) + "/plugins": executor, CgroupName(state) + "/sandboxes": executor,
	})
}

// TestGivesNoFileElsewhere: an executor that was taken over may have left links, and names of files of root's.
func TestGivesNoFileElsewhere(t *testing.T) {
	needsRoot(t)
	state, elsewhere := t.TempDir(), t.TempDir()
	put(t, elsewhere, "canary", "dir/canary")
	put(t, state, "lock", "launcher.lock", "slots/one")
	if err := errors.Join(
		os.Symlink(filepath.Join(elsewhere, "canary"), filepath.Join(state, "yurt.db")),
		os.Link(filepath.Join(elsewhere, "canary"), filepath.Join(state, "yurt.db-wal")),
		os.Symlink(filepath.Join(elsewhere, "dir"), filepath.Join(state, "slots/two")),
		os.Symlink(filepath.Join(elsewhere, "dir"), filepath.Join(state, "sandboxes")),
		unix.Mknod(filepath.Join(state, "reserve"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))),
	); err != nil {
		t.Fatal(err)
	}
	if err := give(state, idrange.Executor); err != nil {
		t.Fatal(err)
	}
	wantOwners(t, elsewhere, map[string]int{".": 0, "canary": 0, "dir": 0, "dir/canary": 0})
	wantOwners(t, state, map[string]int{".": idrange.Executor, "slots/one": idrange.Executor, "reserve": 0})
	if _, err := (Dirs{State: state}).OpenStores(); !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		t.Errorf("directories of sandboxes behind a link: %v", err)
	}
}

// TestGivesNoDirectoryOfOthers: a state directory becomes the executor's.
func TestGivesNoDirectoryOfOthers(t *testing.T) {
	needsRoot(t)
	home := t.TempDir()
	put(t, home, ".ssh/authorized_keys", "lock")
	if err := give(home, idrange.Executor); yurt.CodeOf(err) != yurt.CodeInvalidArgument || !strings.Contains(fmt.Sprint(err), ".ssh") {
		t.Errorf("a home directory: %v", err)
	}
	wantOwners(t, home, map[string]int{".": 0, ".ssh": 0})
}

// TestGivesStores without the trees of layers.
func TestGivesStores(t *testing.T) {
	needsRoot(t)
	store := filepath.Join(t.TempDir(), "cache", "layers")
	if err := GiveStore(store, idrange.Executor); err != nil {
		t.Fatal(err)
	}
	put(t, store, "abc/layer.json", "abc/tree/x")
	if err := GiveStore(store, idrange.Executor); err != nil {
		t.Fatal(err)
	}
	wantOwners(t, store, map[string]int{".": idrange.Executor, "..": 0, "abc": idrange.Executor, "abc/layer.json": idrange.Executor, "abc/tree": 0, "abc/tree/x": 0})
}

// TestDisksAreTheBrokers: an executor can put a directory of its own in their place, which the broker does not use.
func TestDisksAreTheBrokers(t *testing.T) {
	needsRoot(t)
	state := t.TempDir()
	dirs := Dirs{State: state}
	if _, err := dirs.OpenDisks(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	disks := filepath.Join(state, Disks)
	if err := errors.Join(os.Mkdir(disks, 0o755), os.Chown(disks, idrange.Executor, idrange.Executor)); err != nil {
		t.Fatal(err)
	}
	if _, err := dirs.OpenDisks(); err == nil {
		t.Error("one of the executor's was opened")
	}
	if err := os.Chown(disks, 0, 0); err != nil {
		t.Fatal(err)
	}
	dir, err := dirs.OpenDisks()
	if err != nil {
		t.Fatal(err)
	}
	dir.Close()
}
