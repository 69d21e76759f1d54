package overlay_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
	"github.com/yurtrun/yurt/internal/linux/overlay"
)

// TestNew mounts two layers, in a mount namespace of the test's own.
func TestNew(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("run the tests as root")
	}
	top, bottom, place := t.TempDir(), t.TempDir()+"/with:a,colon", t.TempDir()
	if err := os.Mkdir(bottom, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(top, "both"): "top", filepath.Join(bottom, "both"): "bottom", filepath.Join(bottom, "one"): "bottom"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	lockedthread.Run(func() { err = look(top, bottom, place) })
	if err != nil {
		t.Error(err)
	}
}

func look(top, bottom, place string) error {
	if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")); err != nil {
		return err
	}
	mount, err := overlay.New(unix.MOUNT_ATTR_RDONLY, top, bottom)
	if err != nil {
		return err
	}
	defer mount.Close()
	if err := unix.MoveMount(int(mount.Fd()), "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	both, err := os.ReadFile(filepath.Join(place, "both"))
	if err != nil || string(both) != "top" {
		return fmt.Errorf("both is %q, %w", both, err)
	}
	if err := os.WriteFile(filepath.Join(place, "one"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("it can be written: %w", err)
	}
	inside, err := os.Open(filepath.Join(place, "one"))
	if err != nil {
		return err
	}
	defer inside.Close()
	outside, err := os.Open(filepath.Join(bottom, "one"))
	if err != nil {
		return err
	}
	defer outside.Close()
	if err := errors.Join(unix.Flock(int(inside.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.Flock(int(outside.Fd()), unix.LOCK_EX|unix.LOCK_NB)); err != nil {
		return fmt.Errorf("the mount and the layer share a lock: %w", err)
	}
	mounts, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err == nil && strings.Contains(string(mounts), "lowerdir="+top) {
		return errors.New("the mount tells the paths of its layers")
	}
	return err
}

func TestLayersThatAreNotThere(t *testing.T) {
	if _, err := overlay.New(0, t.TempDir(), "/nonexistent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
