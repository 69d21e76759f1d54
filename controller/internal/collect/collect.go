// Package collect holds the output of executions whose sandbox is about to be destroyed, until the store has it. A budget bounds the
// memory of all of them together: output beyond it is left out, and the result says so.
package collect

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// pieceSize is how many bytes of text are taken from a budget at once.
const pieceSize = 16 << 10

// Budget is how many bytes of output may be held together.
type Budget struct{ left atomic.Int64 }

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget {
	b := new(Budget)
	b.left.Store(bytes)
	return b
}

// take reports whether there was room for a piece, which it takes.
func (b *Budget) take() bool {
	if b.left.Add(-pieceSize) >= 0 {
		return true
	}
	b.left.Add(pieceSize)
	return false
}

// Output is the output of one execution so far. Its methods may be called concurrently.
type Output struct {
	budget *Budget
	limit  int64 // of each stream

	mu      sync.Mutex
	streams [2]stream // stdout and stderr
	events  yurt.OutlineBuilder
	closed  bool
}

// stream is the text of one stream, in pieces that are full but for the last one.
type stream struct {
	text   yurt.TextWriter
	budget *Budget
	pieces [][]byte
	raw    int64 // bytes that were taken, as they were printed
	all    int64 // bytes that were printed
	cut    bool
}

// New returns an Output that keeps limit bytes of each stream at most. Its user closes it.
func New(budget *Budget, limit int64) *Output {
	o := &Output{budget: budget, limit: limit}
	for i := range o.streams {
		o.streams[i].budget = budget
		o.streams[i].text.To = &o.streams[i]
	}
	return o
}

// Add adds an event.
func (o *Output) Add(e yurt.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.events.Add(e)
	switch e.Type {
	case yurt.EventStdout:
		o.streams[0].add(e.Data, o.limit)
	case yurt.EventStderr:
		o.streams[1].add(e.Data, o.limit)
	}
}

func (s *stream) add(data []byte, limit int64) {
	s.all += int64(len(data))
	if s.cut {
		return
	}
	if room := limit - s.raw; int64(len(data)) > room {
		data, s.cut = data[:room], true
	}
	s.raw += int64(len(data))
	_, _ = s.text.Write(data) // which does not fail
}

// Write implements [io.Writer] for the text of the stream.
func (s *stream) Write(text []byte) (int, error) {
	n := len(text)
	for len(text) > 0 {
		last := len(s.pieces) - 1
		if last < 0 || len(s.pieces[last]) == pieceSize {
			if !s.budget.take() {
				s.cut = true
				return n, nil
			}
			s.pieces, last = append(s.pieces, make([]byte, 0, pieceSize)), last+1
		}
		piece := s.pieces[last]
		part := text[:min(len(text), pieceSize-len(piece))]
		s.pieces[last], text = append(piece, part...), text[len(part):]
	}
	return n, nil
}

// size is how many bytes of text are held.
func (s *stream) size() (n int64) {
	for _, piece := range s.pieces {
		n += int64(len(piece))
	}
	return n
}

// open returns the text from an offset on.
func (s *stream) open(from int64) io.Reader {
	var parts []io.Reader
	for _, piece := range s.pieces {
		skip := min(from, int64(len(piece)))
		parts, from = append(parts, bytes.NewReader(piece[skip:])), from-skip
	}
	return io.MultiReader(parts...)
}

// Fill puts the output into the result. No output is taken after it.
func (o *Output) Fill(result *yurt.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	out, errs := &o.streams[0], &o.streams[1]
	for _, s := range []*stream{out, errs} {
		if !s.cut {
			_ = s.text.Close()
		}
		s.trim()
	}
	result.Truncated.Stdout, result.Truncated.Stderr = out.cut, errs.cut
	result.Metrics.StdoutBytes, result.Metrics.StderrBytes = out.all, errs.all
	if out.size()+errs.size() <= yurt.InlineOutput {
		result.Stdout, result.Stderr = string(slices.Concat(out.pieces...)), string(slices.Concat(errs.pieces...))
	} else {
		result.Output = &yurt.Output{Stdout: out.size(), Stderr: errs.size(), Open: o.open}
	}
	result.Outline = o.events.Outline(result)
}

// trim drops a character at the end of a text that was cut within it.
func (s *stream) trim() {
	last := len(s.pieces) - 1
	if last < 0 || !s.cut {
		return
	}
	piece := s.pieces[last]
	for at := len(piece) - 1; at >= 0 && at > len(piece)-utf8.UTFMax; at-- {
		if utf8.RuneStart(piece[at]) {
			if !utf8.FullRune(piece[at:]) {
				s.pieces[last] = piece[:at]
			}
			return
		}
	}
}

// open implements the function Open of [yurt.Output].
func (o *Output) open(_ context.Context, kind yurt.EventType, from int64) (io.ReadCloser, error) {
	if kind == yurt.EventStderr {
		return io.NopCloser(o.streams[1].open(from)), nil
	}
	return io.NopCloser(o.streams[0].open(from)), nil
}

// Close gives the memory back to the budget. The result that Fill made is not read after it.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for i := range o.streams {
		o.budget.left.Add(pieceSize * int64(len(o.streams[i].pieces)))
		o.streams[i].pieces = nil
	}
}
