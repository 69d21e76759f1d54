package record

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// OutputPiece is how many bytes of output a row has. The last one of a stream has fewer.
const OutputPiece = 256 << 10

// OutputTable is the table in which a store keeps large output, in rows of [OutputPiece] bytes.
type OutputTable interface {
	// PutOutput adds a row. It is an error that there is no such execution.
	PutOutput(ctx context.Context, id, executionID string, stream, number int, data []byte) error
	// Output returns the data of a row.
	Output(ctx context.Context, id string, stream, number int) ([]byte, error)
	// DropOutput removes all rows of an id.
	DropOutput(ctx context.Context, id string) error
}

// streams are the streams of output by their number in a table.
func streams() []yurt.EventType { return []yurt.EventType{yurt.EventStdout, yurt.EventStderr} }

// outputWriters is how many results a store writes the output of at once. A database that writes one row after another is
// not faster with more.
const outputWriters = 3

// OutputWriter writes large output into the table of a store. Each result that it writes has one piece in memory; further
// results wait. Its methods may be called at the same time.
type OutputWriter struct {
	table OutputTable
	turns *semaphore.Weighted
}

// NewOutputWriter returns a writer into the table.
func NewOutputWriter(table OutputTable) *OutputWriter {
	return &OutputWriter{table: table, turns: semaphore.NewWeighted(outputWriters)}
}

// Store writes the output of a result into the table, if it is too large to be with the result, and returns the id
// of its rows; "" for output that is small.
func (w *OutputWriter) Store(ctx context.Context, executionID string, result *yurt.Result) (id string, err error) {
	if result.OutputBytes(yurt.EventStdout)+result.OutputBytes(yurt.EventStderr) <= yurt.InlineOutput {
		return "", nil
	}
	if err := w.turns.Acquire(ctx, 1); err != nil {
		return "", fmt.Errorf("waiting to store output: %w", err)
	}
	defer w.turns.Release(1)
	id = "out_" + rand.Text()
	for number, stream := range streams() {
		if err := storeStream(ctx, w.table, id, executionID, number, stream, result); err != nil {
			return "", errors.Join(err, w.table.DropOutput(context.WithoutCancel(ctx), id))
		}
	}
	return id, nil
}

func storeStream(ctx context.Context, table OutputTable, id, executionID string, number int, stream yurt.EventType, result *yurt.Result) error {
	left := result.OutputBytes(stream)
	source, err := result.OpenOutput(ctx, stream, 0)
	if err != nil {
		return &contract.OutputError{Err: err}
	}
	defer source.Close()
	piece := make([]byte, min(left, OutputPiece))
	for n := 0; left > 0; n++ {
		piece = piece[:min(left, OutputPiece)]
		if _, err := io.ReadFull(source, piece); err != nil {
			return &contract.OutputError{Err: err}
		}
		if err := table.PutOutput(ctx, id, executionID, number, n, piece); err != nil {
			return fmt.Errorf("storing output: %w", err)
		}
		left -= int64(len(piece))
	}
	return nil
}

// outputOf returns the output with an id, of which the function Open reads a stream.
func outputOf(table OutputTable, id string, size [2]int64) *yurt.Output {
	return &yurt.Output{
		Stdout: size[0], Stderr: size[1],
		Open: func(ctx context.Context, stream yurt.EventType, from int64) (io.ReadCloser, error) {
			for number, kind := range streams() {
				if kind == stream {
					return &outputReader{ctx: ctx, table: table, id: id, stream: number, at: from, size: size[number]}, nil
				}
			}
			return nil, fmt.Errorf("reading output: %q is no stream of it", stream)
		},
	}
}

// outputReader reads the rows of a stream.
type outputReader struct {
	ctx    context.Context //nolint:containedctx // of the caller that reads
	table  OutputTable
	id     string
	stream int
	at     int64 // of the next row, in the text
	size   int64
	rest   []byte
}

// Read implements [io.Reader].
func (r *outputReader) Read(buf []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.at >= r.size {
			return 0, io.EOF
		}
		data, err := r.table.Output(r.ctx, r.id, r.stream, int(r.at/OutputPiece))
		if err != nil {
			return 0, fmt.Errorf("reading output: %w", err)
		}
		skip := r.at % OutputPiece
		if int64(len(data)) <= skip {
			return 0, errors.New("reading output: a part of it is not there")
		}
		r.rest = data[skip:]
		r.at += int64(len(r.rest))
	}
	n := copy(buf, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (r *outputReader) Close() error { return nil }
