package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Place is where a log is. It begins in one file, which is best in memory, as most logs
// are small and short-lived, and goes on in another one, on disk, when it becomes large
// or the memory for logs is used up. Each entry is in one of the two.
type Place struct {
	Path     string
	Overflow string  // made when it is needed, with its directory; "" for a log in one file
	Memory   *Memory // that Path may take; nil for any
}

// maxInMemory is how many bytes of a log are in memory.
const maxInMemory = 64 << 10

// filePage is the unit in which a file takes memory, and fileCost the bytes that a file takes
// beside its pages.
const (
	filePage = 4 << 10
	fileCost = 1 << 10
)

// Memory is the part of the host's memory that the logs of a node may take together.
type Memory struct{ left atomic.Int64 }

// NewMemory returns a memory of so many bytes.
func NewMemory(limit int64) *Memory {
	m := new(Memory)
	m.left.Store(limit)
	return m
}

// take reports whether there are n more bytes, and takes them.
func (m *Memory) take(n int64) bool {
	if m == nil {
		return true
	}
	if m.left.Add(-n) >= 0 {
		return true
	}
	m.left.Add(n)
	return false
}

func (m *Memory) give(n int64) {
	if m != nil {
		m.left.Add(n)
	}
}

// cost is how many bytes of memory a file of the size takes.
func cost(size int64) int64 { return (size+filePage-1)/filePage*filePage + fileCost }

// hold counts a file of the size that is in memory already.
func (l *Log) hold(size int64) {
	l.held = cost(size)
	l.place.Memory.give(-l.held)
}

// fits reports whether n more bytes may be in memory, and takes that.
func (l *Log) fits(n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone { // its memory was given back, and the closed file refuses the entry
		return true
	}
	more := cost(l.size+n) - l.held
	if l.size+n > maxInMemory || !l.place.Memory.take(more) {
		return false
	}
	l.held += more
	return true
}

// write writes an entry behind those that are there. Memory that is full, however much of
// it is the logs', is no failure while there is room on disk.
func (l *Log) write(entry []byte) error {
	if l.rest == nil && (l.place.Overflow == "" || l.fits(int64(len(entry)))) {
		_, err := l.file.WriteAt(entry, l.size)
		if err == nil || l.place.Overflow == "" {
			return err
		}
	}
	if l.rest == nil {
		if err := l.overflow(); err != nil {
			return err
		}
	}
	_, err := l.rest.WriteAt(entry, l.size-l.split)
	return err
}

// overflow has the log go on in its other file. That a part of an entry may be left at the
// end of the first is no matter: readers know how far that goes, and [Open] cuts it off.
func (l *Log) overflow() error {
	if err := os.MkdirAll(filepath.Dir(l.place.Overflow), 0o700); err != nil {
		return fmt.Errorf("making a directory for it: %w", err)
	}
	rest, err := os.OpenFile(l.place.Overflow, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone { // meanwhile
		return errors.Join(ErrClosed, rest.Close())
	}
	l.rest, l.split = rest, l.size
	return nil
}

// fileAt returns the file that holds the entry at an offset of the log, the offset at which the file begins,
// and the highest offset at which its entries can end.
func (l *Log) fileAt(at int64) (file *os.File, begin, end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.rest == nil:
		return l.file, 0, math.MaxInt64
	case at < l.split:
		return l.file, 0, l.split
	default:
		return l.rest, l.split, math.MaxInt64
	}
}

// Remove removes the log at the place; a log that is not there is no error.
func Remove(place Place) error {
	err := unlink(place.Path)
	if place.Overflow != "" { // which most have not
		err = errors.Join(err, unlink(place.Overflow))
	}
	return err
}

// unlink removes the file, if it is there. os.Remove would try whether it is a directory.
func unlink(path string) error {
	err := unix.Unlink(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &os.PathError{Op: "unlink", Path: path, Err: err}
}
