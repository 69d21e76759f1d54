package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

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
