package broker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/packages"
)

// TestViewsFollowNoLink: the record of a sandbox is the executor's, which may put links into it.
func TestViewsFollowNoLink(t *testing.T) { onBoth(t, testViewsFollowNoLink) }

func testViewsFollowNoLink(t *testing.T, b subject, groups *cgroup.Manager) {
	dirs := storeDirs(t.TempDir())
	b.local.Dirs = dirs
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, packages.PythonDir), 0o755); err != nil {
		t.Fatal(err)
	}
	python := broker.Tree{View: "python"}
	canary := t.TempDir()
	for name, link := range map[string]func(record string) error{
		"the view": func(record string) error {
			return errors.Join(os.MkdirAll(filepath.Join(record, broker.ViewsDir), 0o700), os.Symlink(canary, filepath.Join(record, broker.ViewsDir, "python")))
		},
		"its parent": func(record string) error {
			return errors.Join(os.MkdirAll(record, 0o700), os.MkdirAll(filepath.Join(canary, "python"), 0o700), os.Symlink(canary, filepath.Join(record, broker.ViewsDir)))
		},
		"the record": func(record string) error {
			return errors.Join(os.MkdirAll(filepath.Join(canary, broker.ViewsDir, "python"), 0o700), os.Symlink(canary, record))
		},
	} {
		id, _ := rootedSandbox(t, b, groups, root)
		if err := errors.Join(os.MkdirAll(filepath.Dir(dirs.RecordDir(id)), 0o700), link(dirs.RecordDir(id))); err != nil {
			t.Fatal(err)
		}
		if shown, err := b.Shows(id, python); !errors.Is(err, unix.ELOOP) {
			t.Errorf("whether a view is shown, where %s is a link: %t, %v, want %v", name, shown, err, unix.ELOOP)
		}
		if err := b.local.SetInit(id, inRange(t, idrange.First)); err != nil {
			t.Fatal(err)
		}
		if err := b.Mount(id, python); !errors.Is(err, unix.ELOOP) {
			t.Errorf("mounting a view, where %s is a link: %v, want %v", name, err, unix.ELOOP)
		}
	}
}

// TestInitFilesFollowNoLink: the broker makes the socket and the log of an init in the record of the sandbox, in the place of no file there.
func TestInitFilesFollowNoLink(t *testing.T) { onBoth(t, testInitFilesFollowNoLink) }

func testInitFilesFollowNoLink(t *testing.T, b subject, _ *cgroup.Manager) {
	dirs := storeDirs(t.TempDir())
	b.local.Dirs = dirs
	for name, spoil := range map[string]func(record, canary string) error{
		"the record": func(record, canary string) error { return os.Symlink(canary, record) },
		"the socket": func(record, canary string) error {
			return errors.Join(os.Mkdir(record, 0o700), os.Symlink(filepath.Join(canary, "made"), filepath.Join(record, broker.InitSocket)))
		},
		"the log": func(record, canary string) error {
			return errors.Join(os.Mkdir(record, 0o700), os.Symlink(filepath.Join(canary, "made"), filepath.Join(record, broker.InitLog)))
		},
		"a name of the log": func(record, canary string) error {
			kept := filepath.Join(canary, "kept")
			return errors.Join(os.WriteFile(kept, nil, 0o600), os.Mkdir(record, 0o700), os.Link(kept, filepath.Join(record, broker.InitLog)), os.Remove(kept))
		},
	} {
		canary, id := t.TempDir(), yurt.NewSandboxID()
		if err := errors.Join(os.MkdirAll(filepath.Dir(dirs.RecordDir(id)), 0o700), spoil(dirs.RecordDir(id), canary)); err != nil {
			t.Fatal(err)
		}
		_, err := b.Start(t.Context(), broker.StartRequest{
			ID: id, IDBase: idrange.First, Limits: yurt.Resources{CPU: 1, Memory: 64 << 20, Disk: 1 << 20, PIDs: 50},
		})
		if !slices.ContainsFunc([]string{"too many levels of symbolic links", "address already in use", "file exists"}, func(reason string) bool { return strings.Contains(fmt.Sprint(err), reason) }) {
			t.Errorf("a sandbox where %s is a link: %v", name, err)
		}
		if left, err := os.ReadDir(canary); err != nil || len(left) != 0 {
			t.Errorf("where %s is a link, %v was made elsewhere, %v", name, left, err)
		}
	}
}
