package initd

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Kind is the type of a frame's payload.
type Kind byte

// The kinds of frame. Requests go to yurt-init, the others come from it, but for
// [KindAck].
const (
	KindStart  Kind = 'S' // StartRequest; descriptors come along
	KindAttach Kind = 'A' // AttachRequest
	KindForget Kind = 'F' // ProcessRequest
	KindSignal Kind = 'K' // SignalRequest
	KindPing   Kind = 'P' // empty
	KindInput  Kind = 'I' // InputRequest
	KindResize Kind = 'W' // ResizeRequest
	KindPlace  Kind = 'L' // PlaceRequest; a descriptor comes along
	KindAck    Kind = 'C' // Ack: chunks that the host has kept and init may drop

	KindBegun Kind = 'B' // Begun
	KindChunk Kind = 'D' // a chunk of output, see Chunk
	KindExit  Kind = 'X' // Exit; the last frame of its connection
	KindOK    Kind = 'O' // done; empty, or for a KindPing Ready
	KindError Kind = 'E' // Failure; the last frame of its connection
)

const (
	// MaxFrame bounds a frame's payload, in bytes.
	MaxFrame = 1 << 20
	// MaxChunk bounds the output in one chunk, in bytes.
	MaxChunk = 64 << 10
	// AckEvery is how much of a process's output, by [Chunk.Cost], the host takes at most before
	// it acknowledges them; yurt-init may wait for that with more in hand.
	AckEvery = 32 << 10

	frameHeader = 5
	chunkHeader = 9
)

// Frame is one message on a connection.
type Frame struct {
	Kind    Kind
	Payload []byte
}

// AppendFrame appends the encoded frame to buf.
func AppendFrame(buf []byte, kind Kind, payload []byte) []byte {
	buf = append(buf, byte(kind))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(payload)))
	return append(buf, payload...)
}

// WriteMessage writes message as JSON in one frame. A nil message makes an empty one.
func WriteMessage(w io.Writer, kind Kind, message any) error {
	frame, err := EncodeMessage(kind, message)
	if err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}

// ErrTooLarge is the error of a message that does not fit into a frame.
var ErrTooLarge = errors.New("the message is too large")

// EncodeMessage returns message as JSON in one frame, or [ErrTooLarge].
func EncodeMessage(kind Kind, message any) ([]byte, error) {
	var payload []byte
	if message != nil {
		var err error
		if payload, err = json.Marshal(message); err != nil {
			return nil, fmt.Errorf("encoding a %q frame: %w", kind, err)
		}
	}
	if len(payload) > MaxFrame {
		return nil, fmt.Errorf("%w: a %q frame of %d bytes exceeds %d", ErrTooLarge, kind, len(payload), MaxFrame)
	}
	return AppendFrame(make([]byte, 0, frameHeader+len(payload)), kind, payload), nil
}

// Reader reads frames from a stream that is not trusted.
type Reader struct {
	src io.Reader
	buf []byte
}

// NewReader returns a Reader of src. It reads no byte beyond the frame it returns.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// Next returns the next frame, whose payload is valid until the call after. The
// error is io.EOF only between frames.
func (r *Reader) Next() (Frame, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r.src, header[:]); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size > MaxFrame {
		return Frame{}, fmt.Errorf("a frame of %d bytes exceeds %d", size, MaxFrame)
	}
	if cap(r.buf) < int(size) {
		r.buf = make([]byte, size)
	}
	r.buf = r.buf[:size]
	if _, err := io.ReadFull(r.src, r.buf); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, fmt.Errorf("reading a frame of %d bytes: %w", size, err)
	}
	return Frame{Kind: Kind(header[0]), Payload: r.buf}, nil
}

// Decode reads the frame's JSON into message.
func (f Frame) Decode(message any) error {
	if err := json.Unmarshal(f.Payload, message); err != nil {
		return fmt.Errorf("decoding a %q frame: %w", f.Kind, err)
	}
	return nil
}
