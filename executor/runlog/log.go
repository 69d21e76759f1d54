package runlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Kind tells the kinds of entry apart. Values are part of the file format.
type Kind byte

// The kinds of entry.
const (
	Started Kind = 1
	Stdout  Kind = 2
	Stderr  Kind = 3
	Control Kind = 4 // a run's result; not shown to watchers
	Ended   Kind = 5 // its data is the result as JSON; the last entry
	// Position says, for an execution in a context, where the entry after it is in the
	// output of the context's interpreter.
	Position Kind = 6
	// Progress is a message while the packages that the run needs are installed, or while the run waits for
	// its turn in a context. It comes before the run's own output. An empty one tells when the run began: once its
	// packages are there, and again once its process has started.
	Progress Kind = 7
)

// Entry is one record of the log.
type Entry struct {
	Kind Kind
	At   time.Time
	Data []byte
}

const (
	entryHeader = 1 + 8 + 4
	// maxEntry bounds an entry's data, in bytes: an ended one holds a whole result.
	maxEntry = 128 << 20
)

// Log is the log of one execution. Append is for one goroutine, the rest for any.
type Log struct {
	place Place

	mu     sync.Mutex
	held   int64    // bytes of the place's memory
	file   *os.File // at place.Path
	rest   *os.File // at place.Overflow; nil while all of it is in file
	split  int64    // where rest begins
	size   int64    // bytes that readers may read
	tail   tail
	ended  bool          // the last entry is there
	endAt  int64         // where it is
	large  bool          // the output may be too large to be in the result
	beside int64         // bytes of data that are not output
	more   chan struct{} // closed, and replaced, when there is more or it is closed
	gone   bool
}

// Create makes the log at the place. It fails if there is one.
func Create(place Place) (*Log, error) {
	// Without package os, which would try to have the runtime's poller watch it.
	fd, err := -1, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Open(place.Path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("making a log: %w", &os.PathError{Op: "open", Path: place.Path, Err: err})
	}
	return &Log{place: place, file: os.NewFile(uintptr(fd), place.Path), more: make(chan struct{})}, nil
}

// Open opens the log at the place again and cuts off an entry that was not written whole.
// It calls each with every entry that is there; the output in them is not read.
func Open(place Place, each func(Entry)) (*Log, error) {
	l := &Log{place: place, more: make(chan struct{})}
	if err := l.open(each); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// First returns the first entry of the log at the path, and leaves the log as it is.
func First(path string) (Entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return Entry{}, fmt.Errorf("opening a log: %w", err)
	}
	defer file.Close()
	l := &Log{file: file}
	entry, _, err := l.read(l.readAt, 0, -1)
	return entry, err
}

func (l *Log) open(each func(Entry)) (err error) {
	if l.file, err = os.OpenFile(l.place.Path, os.O_RDWR, 0); err != nil {
		return fmt.Errorf("opening a log: %w", err)
	}
	if err := l.mend(l.file, each); err != nil {
		return err
	}
	l.hold(l.size)
	if l.place.Overflow == "" {
		return nil
	}
	rest, err := os.OpenFile(l.place.Overflow, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening a log: %w", err)
	}
	l.rest, l.split = rest, l.size
	return l.mend(rest, each)
}

// mend reads the file, in which the log goes on, and cuts it off after its last entry.
func (l *Log) mend(file *os.File, each func(Entry)) error {
	begin := l.size
	for {
		entry, next, err := l.readUnlessOutput(l.size)
		if errors.Is(err, errNotWhole) {
			break
		}
		if err != nil {
			return err // it may be whole all the same
		}
		l.count(entry.Kind, l.size, int64(len(entry.Data)))
		l.size, l.ended = next, entry.Kind == Ended
		each(entry)
	}
	if err := file.Truncate(l.size - begin); err != nil {
		return fmt.Errorf("mending a log: %w", err)
	}
	return nil
}

// Append adds an entry, which is complete in the file when it returns, unless the disk is full, see put.
func (l *Log) Append(e Entry) error {
	if len(e.Data) > maxEntry {
		return fmt.Errorf("an entry of %d bytes exceeds %d", len(e.Data), maxEntry)
	}
	buf := make([]byte, 0, entryHeader+len(e.Data))
	buf = append(buf, byte(e.Kind))
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.At.UnixNano()))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(e.Data)))
	buf = append(buf, e.Data...)
	if err := l.put(e, buf); err != nil {
		return fmt.Errorf("writing a log: %w", err)
	}
	return nil
}

// Close ends every reader that waits for more. The entries stay; they do not count
// as memory any more, since the executor closes a log only to remove it, or to end.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return nil
	}
	l.gone = true
	close(l.more)
	l.place.Memory.give(l.held)
	if l.large && l.ended {
		time.AfterFunc(linger, func() { _ = l.closeFiles() })
		return nil
	}
	return l.closeFiles()
}

func (l *Log) closeFiles() error {
	var errs []error
	for _, file := range []*os.File{l.file, l.rest} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// ErrClosed says that the log was closed before its last entry came.
var ErrClosed = errors.New("log is closed")

// errNotWhole says that the file ends within an entry, or holds bytes that are no entry.
var errNotWhole = errors.New("the entry is not whole")

// state returns how far the log goes, and the channel that is closed when that changes.
func (l *Log) state() (size int64, tail []Entry, ended, gone bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size, l.tail.entries, l.ended, l.gone, l.more
}

// Follow calls each with every entry from the first on, in order, waiting for more
// until the ended one. It ends early when ctx is done, each returns an error, or
// the log is closed ([ErrClosed]).
func (l *Log) Follow(ctx context.Context, each func(Entry) error) error {
	at, inTail, ahead := int64(0), 0, window{log: l}
	for {
		size, tail, ended, gone, more := l.state()
		ahead.size = size
		for at < size {
			entry, next, err := l.read(ahead.readAt, at, size)
			if errors.Is(err, os.ErrClosed) {
				return ErrClosed
			}
			if err != nil {
				return err
			}
			if err := each(entry); err != nil {
				return err
			}
			at = next
		}
		for ; inTail < len(tail); inTail++ {
			if err := each(tail[inTail]); err != nil {
				return err
			}
		}
		switch {
		case ended:
			return nil
		case gone:
			return ErrClosed
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read returns the entry at the offset and the offset of the next. An entry that
// goes beyond size, if that is not negative, is not whole.
func (l *Log) read(readAt func(buf []byte, at int64) error, at, size int64) (Entry, int64, error) {
	e, length, next, err := l.readHeader(readAt, at, size)
	if err != nil {
		return Entry{}, 0, err
	}
	e.Data = make([]byte, length)
	if err := readAt(e.Data, at+entryHeader); err != nil {
		return Entry{}, 0, err
	}
	return e, next, nil
}

// readUnlessOutput is read for an entry of which is not known whether it is whole, without the data of output.
func (l *Log) readUnlessOutput(at int64) (Entry, int64, error) {
	e, _, next, err := l.readHeader(l.readAt, at, -1)
	if err != nil || e.Kind == Stdout || e.Kind == Stderr {
		return e, next, err
	}
	return l.read(l.readAt, at, -1)
}

// readHeader returns the entry at the offset without its data, the length of that, and the offset of the next.
func (l *Log) readHeader(readAt func(buf []byte, at int64) error, at, size int64) (_ Entry, length, next int64, _ error) {
	var header [entryHeader]byte
	if err := readAt(header[:], at); err != nil {
		return Entry{}, 0, 0, err
	}
	length = int64(binary.BigEndian.Uint32(header[9:]))
	next = at + entryHeader + length
	if length > maxEntry || (size >= 0 && next > size) || header[0] < byte(Started) || header[0] > byte(Progress) {
		return Entry{}, 0, 0, fmt.Errorf("reading a log at %d: %w", at, errNotWhole)
	}
	if size < 0 { // the length is not known to be true yet, and costs memory
		file, begin, _ := l.fileAt(at)
		info, err := file.Stat()
		if err != nil {
			return Entry{}, 0, 0, fmt.Errorf("reading a log: %w", err)
		}
		if next-begin > info.Size() {
			return Entry{}, 0, 0, fmt.Errorf("reading a log at %d: %w", at, errNotWhole)
		}
	}
	return Entry{Kind: Kind(header[0]), At: time.Unix(0, int64(binary.BigEndian.Uint64(header[1:])))}, length, next, nil
}

// readAt fills buf from the offset.
func (l *Log) readAt(buf []byte, at int64) error {
	file, begin, _ := l.fileAt(at)
	n, err := file.ReadAt(buf, at-begin)
	switch {
	case n == len(buf):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("reading a log at %d: %w", at, errNotWhole)
	default:
		return fmt.Errorf("reading a log: %w", err)
	}
}

// window is a piece of a log that was read at once: most entries are small.
type window struct {
	log   *Log
	size  int64 // end of the readable part of the log
	begin int64
	data  []byte
}

// windowSize is how many bytes are read at once.
const windowSize = 4 << 10

// readAt fills buf from the offset.
func (w *window) readAt(buf []byte, at int64) error {
	if at < w.begin || at+int64(len(buf)) > w.begin+int64(len(w.data)) {
		_, _, end := w.log.fileAt(at)
		n := min(w.size, end) - at
		if len(buf) > windowSize || int64(len(buf)) > n {
			return w.log.readAt(buf, at)
		}
		w.begin, w.data = at, make([]byte, min(n, windowSize))
		if err := w.log.readAt(w.data, at); err != nil {
			w.data = nil
			return err
		}
	}
	copy(buf, w.data[at-w.begin:])
	return nil
}
