package programs_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/programs"
)

// ownedBy returns the owner of a file, a link itself.
func ownedBy(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("it has no owner")
	}
	return stat.Uid
}

// leave makes a store of a user's, with an image that an unpacker was killed at, and returns its tree.
func leave(t *testing.T, images, name string, owner int) (tree string) {
	t.Helper()
	const unpacker = idrange.Programs + 7
	dir := filepath.Join(images, name)
	tree = filepath.Join(dir, "tree")
	sub := filepath.Join(tree, "sub")
	if err := errors.Join(
		os.MkdirAll(sub, 0o700), os.WriteFile(filepath.Join(sub, "file"), nil, 0o600), os.Symlink("/etc/passwd", filepath.Join(tree, "link")),
		os.Lchown(filepath.Join(sub, "file"), unpacker, unpacker), os.Lchown(sub, unpacker, unpacker), os.Lchown(filepath.Join(tree, "link"), unpacker, unpacker),
		os.Chmod(sub, 0), os.Lchown(tree, unpacker, unpacker), os.Chown(dir, owner, owner),
	); err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestTreesOfDeadUnpackersAreTheStores: those that died with their broker. It follows no link of the store's owner, and leaves alone the
// trees of living makers and of others than unpackers.
func TestTreesOfDeadUnpackersAreTheStores(t *testing.T) {
	const owner, other = 12345, idrange.First
	images, outside := t.TempDir(), t.TempDir()
	dead, lives := leave(t, images, "new-DEAD", owner), leave(t, images, "new-LIVES", owner)
	placed, foreign := leave(t, images, "placed", owner), leave(t, outside, "new-OUT", owner)
	sandboxes := leave(t, images, "new-SANDBOX", owner)
	inside := filepath.Join(images, "new-INSIDE")
	if err := errors.Join(
		os.Lchown(sandboxes, other, other),
		os.Symlink(filepath.Join(outside, "new-OUT"), filepath.Join(images, "new-LINKED")),
		os.Mkdir(inside, 0o700), os.Symlink(foreign, filepath.Join(inside, "tree")),
	); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Open(filepath.Dir(lives))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	local := programs.New(programs.Config{ImagesDir: images})
	if err := local.Reclaim(); err == nil {
		t.Error("it does not tell of the links")
	}
	if entries := checkOwner(t, dead, owner); entries != 4 {
		t.Errorf("the tree has %d entries, want 4", entries)
	}
	if got := ownedBy(t, "/etc/passwd"); got != 0 {
		t.Errorf("the target of a link belongs to %d", got)
	}
	for name, tree := range map[string]string{"a living maker's": lives, "an image that is there": placed, "one behind a link": foreign} {
		if got := ownedBy(t, tree); got != idrange.Programs+7 {
			t.Errorf("%s: the tree belongs to %d", name, got)
		}
	}
	if got := ownedBy(t, sandboxes); got != other {
		t.Errorf("a sandbox's tree belongs to %d", got)
	}
	if err := programs.New(programs.Config{ImagesDir: filepath.Join(images, "missing")}).Reclaim(); err != nil {
		t.Errorf("without a store: %v", err)
	}
}
