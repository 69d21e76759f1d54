package runlog

import (
	"bytes"

	"github.com/yurtrun/yurt/executor/headroom"
)

// tailLimit bounds the part of a log that is kept in memory, in bytes, besides its last entry.
const tailLimit = 1 << 20

// tail is the part of a log that is not in its files since the disk was full.
type tail struct {
	entries []Entry // that come after those in the files; once there is one, the files get no more
	size    int
	cut     map[Kind]bool // of which entries were dropped, and so are all that come later
}

// put puts an entry where there is room for it: in the files, or else in memory, for as long as this process lives.
// A disk that is full ends no program. Output is dropped then, which its result says. The other entries say how the
// execution goes on and ends. Only the first one has to be on disk: without it the execution does not begin.
func (l *Log) put(e Entry, encoded []byte) error {
	full := l.isFull()
	if !full {
		err := l.write(encoded)
		if err == nil {
			return l.grow(e, int64(len(encoded)))
		}
		if !headroom.IsFull(err) || e.Kind == Started {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	output := e.Kind == Stdout || e.Kind == Stderr
	fits := e.Kind == Ended || l.tail.size+len(e.Data) <= tailLimit
	switch {
	case l.gone:
		return ErrClosed
	case l.tail.cut[e.Kind]:
		return nil
	case !fits, output && len(l.tail.entries) == 0:
		if l.tail.cut == nil {
			l.tail.cut = map[Kind]bool{}
		}
		l.tail.cut[e.Kind] = true
		return nil
	}
	e.Data = bytes.Clone(e.Data) // which is its owner's again once this returns
	l.count(e.Kind, l.size, int64(len(e.Data)))
	l.tail.entries = append(l.tail.entries, e)
	l.tail.size += len(e.Data)
	l.tell(e)
	return nil
}

// isFull reports whether entries are in memory, or dropped.
func (l *Log) isFull() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tail.entries) > 0 || len(l.tail.cut) > 0
}

// Cut reports whether entries of the kind were dropped since the disk was full.
func (l *Log) Cut(kind Kind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.cut[kind]
}

// grow notes that an entry is in the files.
func (l *Log) grow(e Entry, n int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone { // meanwhile
		return ErrClosed
	}
	l.count(e.Kind, l.size, int64(len(e.Data)))
	l.size += n
	l.tell(e)
	return nil
}

// tell tells readers that there is another entry. The lock is held.
func (l *Log) tell(e Entry) {
	l.ended = e.Kind == Ended
	close(l.more)
	l.more = make(chan struct{})
}
