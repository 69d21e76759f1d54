package programs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// handBack gives the files that a program has left in a directory, and the directory, to the owner of the store. The program has ended. Files of
// other users stay as they are, and no link is followed: the owner of the store may change the tree meanwhile. It fails if the program
// has left an entry that no unpacker makes, and gives back that one too, so that its owner can remove it.
func handBack(dir *os.File, store unix.Stat_t) error {
	var given unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &given); err != nil {
		return fmt.Errorf("handing back a program's directory: %w", err)
	}
	h := handing{top: dir, program: given.Uid, uid: int(store.Uid), gid: int(store.Gid)}
	for again := true; again; again = h.moved {
		h.moved = false
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("handing back a program's files: %w", err)
		}
		if err := h.entries(dir, 1); err != nil {
			return fmt.Errorf("handing back a program's files: %w", err)
		}
	}
	if err := errors.Join(dir.Chown(h.uid, h.gid), dir.Chmod(0o755)); err != nil {
		return fmt.Errorf("handing back a program's directory: %w", err)
	}
	return h.odd
}

// The bounds of one walk: directories that are open at once, and names that are read at once.
const (
	maxDepth = 256
	maxNames = 1024
)

// handing is a walk through the files of a program.
type handing struct {
	top      *os.File
	program  uint32 // the user that the files have
	uid, gid int    // that they get
	moved    bool   // a directory was too deep, and is at the top now
	odd      error  // the first entry that no unpacker makes
}

func (h *handing) entries(dir *os.File, depth int) error {
	for {
		names, err := dir.Readdirnames(maxNames)
		for _, name := range names {
			if err := h.entry(dir, name, depth); err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// entry hands back one entry. A directory comes after its entries, so that its new owner does not get in before.
func (h *handing) entry(dir *os.File, name string, depth int) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Uid != h.program {
		return nil
	}
	kind := stat.Mode & unix.S_IFMT
	if known := kind == unix.S_IFREG || kind == unix.S_IFDIR || kind == unix.S_IFLNK; !known || stat.Mode&0o7000 != 0 {
		h.refuse("it has an entry of mode %#o, which the unpacker does not make", stat.Mode)
	}
	if kind == unix.S_IFDIR {
		if depth == maxDepth {
			h.refuse("it has directories more than %d deep, which the unpacker does not make", maxDepth)
			h.moved = true
			return unix.Renameat(int(dir.Fd()), name, int(h.top.Fd()), "deep-"+rand.Text())
		}
		if err := h.inside(fd, stat.Mode, depth); err != nil {
			return err
		}
	}
	return unix.Fchownat(fd, "", h.uid, h.gid, unix.AT_EMPTY_PATH)
}

// inside hands back the entries of a directory, which its owner can change afterwards.
func (h *handing) inside(fd int, mode uint32, depth int) error {
	in, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(in), ".")
	defer dir.Close()
	if err := h.entries(dir, depth+1); err != nil {
		return err
	}
	return unix.Fchmod(in, mode&0o777|0o700)
}

func (h *handing) refuse(format string, args ...any) {
	if h.odd == nil {
		h.odd = fmt.Errorf(format, args...)
	}
}
