package programs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/trees"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Reclaim gives the trees of unpackers that died with their broker to the owner of the store, so that it can remove them. It is called
// before the first program starts. A tree whose maker lives, which another broker's may, stays as it is. No link is followed below the
// store's directory: its owner may have less power than this process.
func (l *Local) Reclaim() error {
	store, err := os.Open(l.config.ImagesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for trees of unpackers: %w", err)
	}
	defer store.Close()
	names, err := store.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("looking for trees of unpackers: %w", err)
	}
	var failed []error
	for _, name := range names {
		if !trees.IsNew(name) {
			continue
		}
		if err := reclaim(store, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("the tree of an unpacker in %s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// reclaim gives one tree back, if it is an unpacker's. The maker of an image holds a lock on its directory.
func reclaim(store *os.File, name string) error {
	made, err := openDir(store, name)
	if err != nil {
		return err
	}
	defer made.Close()
	if err := unix.Flock(int(made.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	} else if err != nil {
		return err
	}
	tree, err := openDir(made, trees.Dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	var owner, stat unix.Stat_t
	if err := errors.Join(unix.Fstat(int(made.Fd()), &owner), unix.Fstat(int(tree.Fd()), &stat)); err != nil {
		return err
	}
	if !idrange.IsProgram(stat.Uid) {
		return nil
	}
	return handBack(tree, owner)
}

// openDir opens a directory in another one, past no link and on the same file system.
func openDir(in *os.File, name string) (*os.File, error) {
	fd, err := openat.At(int(in.Fd()), name, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
