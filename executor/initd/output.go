package initd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Output is the output of one process, as it comes. Next and Forget are for one goroutine,
// Ack and Close for any.
type Output struct {
	client *Client
	conn   *net.UnixConn
	keeps  bool // yurt-init takes another request once the process is forgotten
	ended  bool // the end of the process came
	reader *Reader
	seq    uint64
	gap    bool // the next chunk need not be the one after seq

	mu   sync.Mutex  // serialises writes
	left atomic.Bool // its connection is closed, or the client's again
	rest rest
}

func (o *Output) begin(kind Kind, message any, files []*os.File, meanwhile func() error) (begun Begun, err error) {
	request, err := EncodeMessage(kind, message)
	if err != nil {
		return begun, err
	}
	if err := writeWithFiles(o.conn, request, files); err != nil {
		return begun, fmt.Errorf("asking yurt-init: %w", err)
	}
	var done error
	if meanwhile != nil {
		done = meanwhile()
	}
	answer, err := o.reader.Next()
	if err != nil {
		return begun, fmt.Errorf("waiting for yurt-init: %w", err)
	}
	if err := answer.expect(KindBegun); err != nil {
		return begun, err
	}
	return begun, errors.Join(done, answer.Decode(&begun))
}

// Next returns the next chunk, or how the process ended. The chunk's data is
// valid until the call after. Any error ends the output.
func (o *Output) Next() (Chunk, *Exit, error) {
	frame, err := o.read()
	if err != nil {
		return Chunk{}, nil, fmt.Errorf("reading output: %w", err)
	}
	if frame.Kind == KindExit {
		exit := new(Exit)
		if err := frame.Decode(exit); err != nil {
			return Chunk{}, nil, err
		}
		o.ended = true
		return Chunk{}, exit, nil
	}
	chunk, err := frame.Chunk()
	if err != nil {
		return Chunk{}, nil, err
	}
	if chunk.Seq != o.seq+1 && (!o.gap || chunk.Seq <= o.seq) {
		return Chunk{}, nil, fmt.Errorf("chunk %d came after chunk %d", chunk.Seq, o.seq)
	}
	o.seq, o.gap = chunk.Seq, false
	return chunk, nil, nil
}

// Ack tells yurt-init that every chunk up to seq is kept and may be dropped.
func (o *Output) Ack(seq uint64) error {
	return o.write(KindAck, Ack{Seq: seq})
}

// Forget lets yurt-init drop the process, whose exit was read. The output is finished then: where yurt-init keeps
// connections open, this one serves the next request.
func (o *Output) Forget(ctx context.Context, id string) error {
	if !o.ended || !o.keeps {
		return o.client.Forget(ctx, id)
	}
	if err := o.write(KindForget, ProcessRequest{ID: id}); err != nil {
		return fmt.Errorf("asking yurt-init: %w", err)
	}
	if err := o.conn.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("asking yurt-init: %w", err)
	}
	if !o.left.Swap(true) {
		o.client.keep(o.conn)
	}
	return nil
}

// writePatience is how long a message on an output's connection may wait for room. yurt-init reads all the time, and
// the socket has room for hundreds of acknowledgements.
const writePatience = 10 * time.Second

// write sends a message on the output's connection, which ends when that is not read.
func (o *Output) write(kind Kind, message any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.conn.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	err := WriteMessage(o.conn, kind, message)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		o.Close() // half of it may be there, and the next one would wait as long
	}
	return err
}

// Close ends the connection, unless it is not the output's any more; the process goes on.
func (o *Output) Close() error {
	if o.left.Swap(true) {
		return nil
	}
	return o.conn.Close()
}
