package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/internal/linux/procid"
)

// own names this process as if it were the init of a sandbox.
func own(t *testing.T) broker.Sandbox {
	t.Helper()
	id, err := procid.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return broker.Sandbox{ID: "sbx_own", Init: id}
}

// TestOpenFollowsNoLink: an image or a sandbox can put a link in the place of its workspace.
func TestOpenFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "out"), 0o755), os.Symlink(filepath.Join(dir, "out"), link)); err != nil {
		t.Fatal(err)
	}
	local := broker.NewLocal(broker.Config{})
	for _, path := range []string{link, "/proc/self/root" + dir, "/proc/self/cwd"} {
		file, err := local.Open(own(t), broker.Place(path))
		if !errors.Is(err, unix.ELOOP) {
			t.Errorf("opening %s: %v, want %v", path, err, unix.ELOOP)
		}
		if err == nil {
			file.Close()
		}
	}
	file, err := local.Open(own(t), broker.Place(filepath.Join(dir, "out")))
	if err != nil {
		t.Fatalf("opening a plain directory: %v", err)
	}
	file.Close()
}

// TestNamespaceOfAnotherProcess: the number of an init that has ended may be another process's by now, whose namespaces are not
// the sandbox's.
func TestNamespaceOfAnotherProcess(t *testing.T) {
	t.Parallel()
	local := broker.NewLocal(broker.Config{})
	gone := own(t)
	gone.Init.Start--
	if listener, err := local.Listen(gone); err == nil {
		t.Errorf("it listens at %s", listener.Addr())
		listener.Close()
	}
	if root, err := local.Open(gone, broker.Root); err == nil {
		t.Error("it opens the root")
		root.Close()
	}
	if err := local.Mount(gone, broker.Tree{View: "python"}); err == nil {
		t.Error("it mounts a tree")
	}
	listener, err := local.Listen(own(t))
	if err != nil {
		t.Fatalf("listening in the own network: %v", err)
	}
	listener.Close()
}
