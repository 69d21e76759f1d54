package output

import (
	"bytes"
	"context"
	"io"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/runlog"
)

// Reader calls each with the entries that are in a log by now.
type Reader func(each func(runlog.Entry) error) error

// Gather returns a result with the output in a log, and the data that was written to the control
// descriptor. It counts all output, and keeps no more of it than a result holds itself.
func Gather(read Reader, log *runlog.Log) (*yurt.Result, []byte) {
	var stdout, stderr stream
	var control bytes.Buffer
	stdout.begin()
	stderr.begin()
	_ = read(func(e runlog.Entry) error {
		switch e.Kind {
		case runlog.Stdout:
			_, _ = stdout.text.Write(e.Data)
		case runlog.Stderr:
			_, _ = stderr.text.Write(e.Data)
		case runlog.Control:
			control.Write(e.Data)
		}
		return nil
	})
	_, _ = stdout.text.Close(), stderr.text.Close()
	result := new(yurt.Result)
	if stdout.text.Size+stderr.text.Size <= yurt.InlineOutput {
		result.Stdout, result.Stderr = stdout.head.String(), stderr.head.String()
		return result, control.Bytes()
	}
	result.Output = &yurt.Output{Stdout: stdout.text.Size, Stderr: stderr.text.Size, Open: Opener(log)}
	return result, control.Bytes()
}

// Opener returns the function that opens the output of a log.
func Opener(log *runlog.Log) func(context.Context, yurt.EventType, int64) (io.ReadCloser, error) {
	return func(_ context.Context, stream yurt.EventType, from int64) (io.ReadCloser, error) {
		kind := runlog.Stdout
		if stream == yurt.EventStderr {
			kind = runlog.Stderr
		}
		return log.OpenText(kind, from)
	}
}

// stream counts the text of one stream, and keeps its beginning.
type stream struct {
	text yurt.TextWriter
	head bytes.Buffer
}

func (s *stream) begin() { s.text.To = s }

// Write implements [io.Writer].
func (s *stream) Write(text []byte) (int, error) {
	if room := yurt.InlineOutput - s.head.Len(); room > 0 {
		s.head.Write(text[:min(room, len(text))])
	}
	return len(text), nil
}

// Last returns the end of a stream of a result, at most so many bytes of it.
func Last(ctx context.Context, result *yurt.Result, stream yurt.EventType, limit int64) string {
	text, err := result.TextAt(ctx, stream, result.OutputBytes(stream)-limit, limit)
	if err != nil {
		return ""
	}
	return text
}
