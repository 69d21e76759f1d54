package yurt

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// InlineOutput is how many bytes of output, of both streams, a result has in itself where the node or
// the store keeps the output apart: most results are smaller, and are read at once.
const InlineOutput = 32 << 10

// Output is the text that an execution printed, where it is kept apart from its result.
type Output struct {
	Stdout int64 // bytes of its text
	Stderr int64
	// Open returns the text of [EventStdout] or [EventStderr] from an offset on. Its caller closes it.
	Open func(ctx context.Context, stream EventType, from int64) (io.ReadCloser, error)
}

// OutputBytes returns how many bytes of text the result has of a stream.
func (r *Result) OutputBytes(stream EventType) int64 {
	switch {
	case r.Output == nil && stream == EventStderr:
		return int64(len(r.Stderr))
	case r.Output == nil:
		return int64(len(r.Stdout))
	case stream == EventStderr:
		return r.Output.Stderr
	default:
		return r.Output.Stdout
	}
}

// OpenOutput returns the text of a stream from an offset on, wherever it is kept. Its caller closes it.
func (r *Result) OpenOutput(ctx context.Context, stream EventType, from int64) (io.ReadCloser, error) {
	switch {
	case r.Output != nil && r.Output.Open == nil:
		return nil, errors.New("reading the output of an execution: it is kept elsewhere")
	case r.Output != nil:
		return r.Output.Open(ctx, stream, from)
	}
	text := r.Stdout
	if stream == EventStderr {
		text = r.Stderr
	}
	return io.NopCloser(strings.NewReader(text[min(from, int64(len(text))):])), nil
}

// TextAt returns so many bytes of a stream from an offset on, as far as there are as many. An offset below 0 is the beginning.
func (r *Result) TextAt(ctx context.Context, stream EventType, from, size int64) (string, error) {
	source, err := r.OpenOutput(ctx, stream, max(0, from))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(source, size))
	return string(text), errors.Join(err, source.Close())
}

// Whole returns the result with all of its output in it, for callers that have the memory for it.
func (r *Result) Whole(ctx context.Context) (*Result, error) {
	if r.Output == nil {
		return r, nil
	}
	whole := *r
	whole.Output = nil
	for stream, into := range map[EventType]*string{EventStdout: &whole.Stdout, EventStderr: &whole.Stderr} {
		var text strings.Builder
		source, err := r.OpenOutput(ctx, stream, 0)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(&text, io.LimitReader(source, r.OutputBytes(stream)))
		if err := errors.Join(err, source.Close()); err != nil {
			return nil, err
		}
		*into = text.String()
	}
	return &whole, nil
}

// TextWriter makes valid UTF-8 of its input, as [strings.ToValidUTF8] with
// [utf8.RuneError] does of a whole text. To may be nil, to count only.
type TextWriter struct {
	To   io.Writer
	Size int64 // bytes of text so far

	rest   [utf8.UTFMax]byte // the beginning of a character whose end has not come
	held   int               // bytes of it
	broken bool              // what came last is no text, and is replaced already
}

// Write implements [io.Writer].
func (w *TextWriter) Write(data []byte) (int, error) {
	n := len(data)
	if w.held > 0 {
		data = append(w.rest[:w.held:w.held], data...)
		w.held = 0
	}
	data = w.hold(data)
	return n, w.pass(data)
}

// Close writes the rest. It does not close the writer below.
func (w *TextWriter) Close() error {
	rest := w.rest[:w.held]
	w.held = 0
	return w.pass(rest)
}

// hold keeps the beginning of a character at the end of data for the next write, and returns the data before it.
func (w *TextWriter) hold(data []byte) []byte {
	for i := len(data) - 1; i >= 0 && i > len(data)-utf8.UTFMax; i-- {
		if !utf8.RuneStart(data[i]) {
			continue
		}
		if !utf8.FullRune(data[i:]) {
			w.held = copy(w.rest[:], data[i:])
			return data[:i]
		}
		break
	}
	return data
}

// pass writes data in which no character is cut that can still become whole.
func (w *TextWriter) pass(data []byte) error {
	for len(data) > 0 {
		valid := validPrefix(data)
		if valid > 0 {
			if err := w.put(data[:valid]); err != nil {
				return err
			}
			w.broken, data = false, data[valid:]
			continue
		}
		if !w.broken {
			if err := w.put([]byte(string(utf8.RuneError))); err != nil {
				return err
			}
		}
		w.broken, data = true, data[1:]
	}
	return nil
}

func (w *TextWriter) put(text []byte) error {
	w.Size += int64(len(text))
	if w.To == nil {
		return nil
	}
	_, err := w.To.Write(text)
	return err
}

// validPrefix returns how many bytes of data are text, up to the first that is not.
func validPrefix(data []byte) int {
	if utf8.Valid(data) {
		return len(data)
	}
	n := 0
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}

// LogEntry is a piece of the output of an execution of a session.
type LogEntry struct {
	ExecutionID string    `json:"execution_id"`
	Type        EventType `json:"type"` // stdout or stderr
	At          time.Time `json:"at"`
	Data        []byte    `json:"-"`
}

// Bounds of how much output the log of a session shows, in bytes.
const (
	DefaultLogBytes = 256 << 10
	MaxLogBytes     = 16 << 20
)
