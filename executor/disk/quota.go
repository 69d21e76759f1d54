package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/workspace"
)

// Of linux/quota.h, linux/dqblk_xfs.h and linux/fs.h. The commands are of project quotas.
const (
	projectQuota  = 2
	getQuota      = 0x800007<<8 | projectQuota
	setQuota      = 0x800008<<8 | projectQuota
	getQuotaState = 0x5808<<8 | projectQuota

	quotaStateVersion = 1
	projectEnforced   = 1 << 5
	limitsAreValid    = 1<<0 | 1<<2 // of bytes, and of inodes
	quotaBlock        = 1024        // bytes, in which limits are given

	getAttributes  = 0x801c581f
	setAttributes  = 0x401c5820
	inheritProject = 0x200
)

// quota is a struct if_dqblk.
type quota struct {
	blocks, softBlocks, bytes, inodes, softInodes, usedInodes, blockTime, inodeTime uint64

	valid uint32
	_     uint32
}

// quotaState is a struct fs_quota_statv.
type quotaState struct {
	version int8
	_       uint8
	flags   uint16
	_       uint32
	_       [19]uint64
}

// attributes are a struct fsxattr.
type attributes struct {
	flags, _, _, project uint32
	_                    [3]uint32
}

// CheckQuota returns an error unless the file system that holds dir enforces project quotas.
func CheckQuota(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("looking for project quotas: %w", err)
	}
	defer file.Close()
	state := quotaState{version: quotaStateVersion}
	if err := quotactl(file, getQuotaState, 0, unsafe.Pointer(&state)); err != nil || state.flags&projectEnforced == 0 {
		return yurt.Errorf(yurt.CodeLimitNotEnforceable, "the file system of %s enforces no project quotas; have it on ext4 or XFS that is mounted with prjquota", dir)
	}
	return nil
}

// Projects are ids of projects for this executor alone: the first one, and how many.
type Projects struct{ First, Count uint32 }

// MakeDir makes the directory at path for the user, which holds size bytes at the most, and
// as many files and directories as an image of that size, or minInodes.
func MakeDir(path string, size yurt.Size, projects Projects, uid, gid uint32) (err error) {
	// Only root gets in before it is bounded.
	if err := os.Mkdir(path, 0o700); err != nil {
		return fmt.Errorf("making a workspace: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("making a workspace: %w", errors.Join(err, RemoveDir(path)))
		}
	}()
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	project, err := unused(dir, projects)
	if err != nil {
		return err
	}
	limits := quota{blocks: uint64(size) / quotaBlock, inodes: max(uint64(size)/bytesOfInode, minInodes), valid: limitsAreValid}
	if err := quotactl(dir, setQuota, project, unsafe.Pointer(&limits)); err != nil {
		return fmt.Errorf("limiting project %d: %w", project, err)
	}
	if err := ioctl(dir, setAttributes, &attributes{flags: inheritProject, project: project}); err != nil {
		return fmt.Errorf("joining project %d: %w", project, err)
	}
	return errors.Join(dir.Chown(int(uid), int(gid)), dir.Chmod(0o755))
}

// attempts is how many projects are looked at for an empty one.
const attempts = 16

// unused returns one of the projects that no file belongs to: executors on one machine, which
// do not know of each other, may have the same ones.
func unused(dir *os.File, projects Projects) (uint32, error) {
	for range attempts {
		project := projects.First + rand.Uint32N(projects.Count) //nolint:gosec // chance, not secrecy
		var q quota
		err := quotactl(dir, getQuota, project, unsafe.Pointer(&q))
		if errors.Is(err, unix.ENOENT) || err == nil && q.usedInodes == 0 && q.bytes == 0 {
			return project, nil
		}
		if err != nil {
			return 0, fmt.Errorf("looking at project %d: %w", project, err)
		}
	}
	return 0, yurt.Errorf(yurt.CodeOverloaded, "%d project ids that were tried are in use; end some sandboxes", attempts)
}

// RemoveDir removes a directory of [MakeDir] with its present content, and gives its project back. A missing directory is no error.
func RemoveDir(path string) error {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil // also for the work of others, which bounds no files
	}
	if err != nil {
		return fmt.Errorf("removing a workspace: %w", err)
	}
	defer dir.Close()
	var of attributes
	if err := ioctl(dir, getAttributes, &of); err != nil {
		return fmt.Errorf("removing a workspace: %w", err)
	}
	parent, err := workspace.At(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("removing a workspace: %w", err)
	}
	defer parent.Close()
	if err := parent.Remove(context.Background(), filepath.Base(path), true); err != nil {
		return fmt.Errorf("removing a workspace: %w", err)
	}
	if of.project == 0 { // it was half made
		return nil
	}
	none := quota{valid: limitsAreValid}
	if err := quotactl(dir, setQuota, of.project, unsafe.Pointer(&none)); err != nil {
		return fmt.Errorf("giving project %d back: %w", of.project, err)
	}
	return nil
}

func quotactl(file *os.File, command uintptr, project uint32, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_QUOTACTL_FD, file.Fd(), command, uintptr(project), uintptr(arg), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func ioctl(file *os.File, command uintptr, arg *attributes) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, file.Fd(), command, uintptr(unsafe.Pointer(arg))); errno != 0 {
		return errno
	}
	return nil
}
