package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/yurtrun/yurt"
)

// linger is how long the files of a closed log stay open where its output is not in its result, for
// callers that have that result and have not read the output yet.
const linger = 10 * time.Second

// Text reads the output of one stream as text: that which is there when it is opened.
type Text struct {
	log     *Log
	kind    Kind
	at      int64   // in the log
	ahead   window  // of the log, and how far it is read
	tail    []Entry // after that
	pending bytes.Buffer
	valid   yurt.TextWriter
	ended   bool
}

// OpenText returns the text of a stream, Stdout or Stderr, from an offset on.
func (l *Log) OpenText(kind Kind, from int64) (*Text, error) {
	t := &Text{log: l, kind: kind}
	t.ahead = window{log: l}
	t.ahead.size, t.tail, _, _, _ = l.state()
	t.valid.To = &t.pending
	if _, err := io.CopyN(io.Discard, t, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return t, nil
}

// Read implements [io.Reader].
func (t *Text) Read(buf []byte) (int, error) {
	for t.pending.Len() == 0 {
		if t.ended {
			return 0, io.EOF
		}
		if err := t.next(); err != nil {
			return 0, err
		}
	}
	return t.pending.Read(buf)
}

// next takes the next entry of the log.
func (t *Text) next() error {
	var entry Entry
	switch {
	case t.at < t.ahead.size:
		var err error
		entry, t.at, err = t.log.read(t.ahead.readAt, t.at, t.ahead.size)
		if errors.Is(err, os.ErrClosed) {
			return ErrClosed
		}
		if err != nil {
			return err
		}
	case len(t.tail) > 0:
		entry, t.tail = t.tail[0], t.tail[1:]
	default:
		t.ended = true
		return t.valid.Close()
	}
	if entry.Kind != t.kind {
		return nil
	}
	_, err := t.valid.Write(entry.Data)
	return err
}

// Close implements [io.Closer]. The log stays open.
func (t *Text) Close() error { return nil }

// End returns the last entry, which is the one of kind [Ended].
func (l *Log) End() (Entry, error) {
	l.mu.Lock()
	at, size, tail, ended := l.endAt, l.size, l.tail.entries, l.ended
	l.mu.Unlock()
	switch {
	case !ended:
		return Entry{}, fmt.Errorf("reading the end of a log: %w", errNotWhole)
	case len(tail) > 0:
		return tail[len(tail)-1], nil
	}
	entry, _, err := l.read(l.readAt, at, size)
	if errors.Is(err, os.ErrClosed) {
		return entry, ErrClosed
	}
	return entry, err
}

// Beside returns how many bytes of data the entries have that are not output: an upper bound of
// the size of a result that is made of them.
func (l *Log) Beside() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.beside
}

// count notes an entry of so many bytes at an offset. The lock is held.
func (l *Log) count(kind Kind, at, length int64) {
	switch kind {
	case Stdout, Stderr:
		l.large = l.large || at > yurt.InlineOutput
	case Ended:
		l.endAt = at
		l.beside += length
	default:
		l.beside += length
	}
}
