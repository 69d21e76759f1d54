// Package headroom keeps room on a disk for the writes that end a sandbox, a run or a session when the disk is full: a file
// that holds blocks, gives them up for one write, and takes them again. It also says whether a disk is full, so that
// new work is refused before it is half done.
//
// A [Room] is safe for concurrent use. It needs no goroutine: each call looks at the disk at that moment.
package headroom

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Least is how many bytes must be free on a disk for new work to begin on it. One request makes the server write less at
// once: records of some KiB, and 64 KiB of a log.
const Least = 1 << 20

// ErrFull says that a disk has no room.
var ErrFull = errors.New("no room is left on the disk")

// Room is the room that is kept on the disk of one directory.
type Room struct {
	path string
	size int64

	mu   sync.Mutex
	file *os.File // nil before Take, after Give, and where the file cannot be made
	held int64    // bytes that the file has
}

// New returns the room of a file at the path, which may exist from an earlier process. The room is empty before the first
// [Room.Check] or [Room.Take].
func New(path string, size int64) *Room { return &Room{path: path, size: size} }

// IsFull reports whether an error says that a disk, or the caller's quota of it, has no room.
func IsFull(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// Check fills the room up before new work begins, and returns [ErrFull] where its disk has no space for more.
func (r *Room) Check() error {
	r.Take()
	return Check(filepath.Dir(r.path))
}

// Check returns [ErrFull] where the disk of a directory has less than [Least] free, or no room for another file.
func Check(dir string) error {
	var info unix.Statfs_t
	if err := unix.Statfs(dir, &info); err != nil {
		return fmt.Errorf("asking how full a disk is: %w", err)
	}
	free := info.Bavail
	if os.Geteuid() == 0 {
		free = info.Bfree // with the blocks that file systems reserve for root by its user id; it needs no capability for them
	}
	if int64(free)*info.Bsize < Least || info.Files > 0 && info.Ffree == 0 { //nolint:gosec // far below the largest
		return ErrFull
	}
	return nil
}

// Take fills the room up as far as the disk allows.
func (r *Room) Take() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held < r.size {
		r.take()
	}
}

// take is Take; the lock is held.
func (r *Room) take() {
	if r.file == nil {
		file, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return // the disk is full: the next try may find room
		}
		r.file, r.held = file, 0
	}
	for step := r.size; r.held < r.size && step >= smallest; {
		n := min(step, r.size-r.held)
		if unix.Fallocate(int(r.file.Fd()), 0, r.held, n) != nil {
			step /= 2
			continue
		}
		r.held += n
	}
}

// smallest is the least that is taken at once, in bytes.
const smallest = 4 << 10

// Give gives the room up for the write that follows. A process also calls it at its start, when it may find the disk full and the
// room of an earlier process.
func (r *Room) Give() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.give()
}

func (r *Room) give() {
	if r.file == nil {
		_ = os.Truncate(r.path, 0) // a missing file is as good
		return
	}
	if r.file.Truncate(0) == nil {
		r.held = 0
	}
}

// Spend calls write, with the room given up if the disk has no other. It is for writes that end something, and so free space.
func (r *Room) Spend(do func() error) error {
	err := do()
	if !IsFull(err) {
		return err
	}
	return r.Use(do)
}

// Use calls write with the room given up, and fills the room up again from the rest.
func (r *Room) Use(do func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.give()
	defer r.take()
	return do()
}

// Held returns how many bytes are kept.
func (r *Room) Held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// Close closes the file and leaves it, with its blocks, for the next process.
func (r *Room) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	file := r.file
	r.file = nil
	return file.Close()
}
