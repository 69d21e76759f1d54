package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/oci"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Resize gives a file system in memory of the sandbox other bounds.
func (s *Sandbox) Resize(path string, to oci.Sizes) error {
	at, err := openat.Inside(s.Record.Init.PID, path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	fs, err := unix.Fspick(at, "", unix.FSPICK_CLOEXEC|unix.FSPICK_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetString(fs, "size", strconv.FormatInt(int64(to.Bytes), 10)); err != nil {
		return err
	}
	if err := unix.FsconfigSetString(fs, "nr_inodes", strconv.FormatInt(to.Inodes, 10)); err != nil {
		return err
	}
	return unix.FsconfigReconfigure(fs)
}

// The names, in a sandbox's directory on disk, of what its workspace is held in.
const (
	imageFile = "workspace.img"
	quotaDir  = "workspace"
)

// MakeDisk makes what the sandbox's workspace is held in, and returns its path; "" if
// that is memory.
func (s *Sandbox) MakeDisk(ctx context.Context) (string, error) {
	r, base := s.Record.Spec.Limits(), s.Record.IDBase
	if !r.OnDisk() {
		return "", nil
	}
	if err := os.MkdirAll(s.Store, 0o700); err != nil {
		return "", fmt.Errorf("making the sandbox's directory: %w", err)
	}
	if r.DiskKind == yurt.DiskImage {
		path := filepath.Join(s.Store, imageFile)
		return path, disk.Make(ctx, path, r.Disk, base+rootfs.UserID, base+rootfs.GroupID)
	}
	path := filepath.Join(s.Store, quotaDir)
	projects := disk.Projects{First: base, Count: oci.IDRange} // as free as its ids are
	return path, disk.MakeDir(path, r.Disk, projects, base+rootfs.UserID, base+rootfs.GroupID)
}

// RemoveStore removes what a sandbox has on disk, also after a reboot, when nothing else is
// known of it.
func RemoveStore(store string) error {
	if err := disk.RemoveDir(filepath.Join(store, quotaDir)); err != nil {
		return err
	}
	return os.RemoveAll(store)
}
