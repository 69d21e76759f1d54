package protocol

import (
	"bytes"

	"github.com/yurtrun/yurt"
)

// A kernel writes a mark to its standard output and error when an execution is done: all output before the mark is of
// that execution.
const (
	markStart = "\x1eyurt:"
	markEnd   = '\x1e'
	maxMark   = len(markStart) + 80
)

// Mark returns the mark of an execution.
func Mark(id string) string { return markStart + id + string(rune(markEnd)) }

// scanner takes the marks out of a stream.
type scanner struct {
	held []byte // a possible beginning of a mark
}

// scan calls text with each piece of output and mark with each mark's execution, in
// order. The pieces are valid only during the call.
func (s *scanner) scan(data []byte, text func([]byte), mark func(id string)) {
	if len(s.held) > 0 {
		data = append(s.held, data...)
		s.held = nil
	}
	emit := func(piece []byte) {
		if len(piece) > 0 {
			text(piece)
		}
	}
	from := 0 // of the text that was not passed on
	for at := 0; at < len(data); {
		start := bytes.IndexByte(data[at:], markEnd)
		if start < 0 {
			break
		}
		start += at
		id, size, whole := readMark(data[start:])
		switch {
		case !whole:
			emit(data[from:start])
			s.held = append([]byte(nil), data[start:]...)
			return
		case size == 0:
			at = start + 1
		default:
			emit(data[from:start])
			mark(id)
			at = start + size
			from = at
		}
	}
	emit(data[from:])
}

// flush passes on held text that did not become a mark.
func (s *scanner) flush(text func([]byte)) {
	if len(s.held) > 0 {
		text(s.held)
		s.held = nil
	}
}

// readMark reads the mark at the beginning of data. size is 0 if there is no mark; whole is false if more data has to tell.
func readMark(data []byte) (id string, size int, whole bool) {
	n := min(len(data), len(markStart))
	if string(data[:n]) != markStart[:n] {
		return "", 0, true
	}
	end := bytes.IndexByte(data[1:min(len(data), maxMark)], markEnd)
	if end < 0 {
		return "", 0, len(data) >= maxMark
	}
	id = string(data[len(markStart) : end+1])
	if !yurt.ValidID(yurt.ExecutionIDPrefix, id) {
		return "", 0, true
	}
	return id, end + 2, true
}
