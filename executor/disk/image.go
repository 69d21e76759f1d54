package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/disk/loop"
)

// bytesOfInode is how many bytes there is an inode for; a directory has some in any case.
const (
	bytesOfInode = 8192
	minInodes    = 1024
)

// Check returns an error that names the program or feature that this host lacks for images.
func Check() error {
	if _, err := findMkfs(); err != nil {
		return err
	}
	if _, err := os.Stat(loop.Control); err != nil {
		return yurt.Errorf(yurt.CodeLimitNotEnforceable, "this node has no %s to mount disk images by; load the kernel's module loop", loop.Control)
	}
	return nil
}

// Free returns how many bytes the file system that holds dir has left.
func Free(dir string) (yurt.Size, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("looking for free space: %w", err)
	}
	return yurt.Size(fs.Bavail) * yurt.Size(fs.Bsize), nil
}

func findMkfs() (string, error) {
	if path, err := exec.LookPath("mkfs.ext4"); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} { // which not every PATH has
		path := filepath.Join(dir, "mkfs.ext4")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", yurt.Errorf(yurt.CodeLimitNotEnforceable, "this node has no mkfs.ext4 to make disk images with; install e2fsprogs")
}

// Make makes the file at path, with an empty file system in it whose root belongs to the user. It has no journal: after a crash
// of the host it is not mounted again.
func Make(ctx context.Context, path string, size yurt.Size, uid, gid uint32) (err error) {
	mkfs, err := findMkfs()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("making a disk image: %w", err)
	}
	if err := errors.Join(file.Truncate(int64(size)), file.Close()); err != nil {
		return fmt.Errorf("making a disk image: %w", err)
	}
	cmd := exec.CommandContext(ctx, mkfs, "-q", "-F", "-m", "0", "-b", "4096", "-i", strconv.Itoa(bytesOfInode),
		"-O", "^has_journal,^resize_inode", "-E", fmt.Sprintf("nodiscard,lazy_itable_init=1,root_owner=%d:%d", uid, gid), path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("making a file system in a disk image: %w: %s", err, out)
	}
	return nil
}
