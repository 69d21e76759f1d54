package wire

import (
	"errors"
	"io"
	"slices"
)

// SendAll calls send with all that the reader has, in parts.
func SendAll(content io.Reader, send func([]byte) error) error {
	for {
		// Each part has a new buffer: a sent one may not be written to again.
		buf := make([]byte, MaxPart)
		n, err := io.ReadFull(content, buf)
		if n > 0 {
			if err := send(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// Sender is a writer that sends its input.
type Sender func(data []byte) error

func (s Sender) Write(data []byte) (int, error) {
	err := Parts(data, func(part []byte, _ bool) error { return s(slices.Clone(part)) })
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

// Received reads data that comes in messages. A stream that breaks is an error, and
// never an end.
type Received struct {
	Rest []byte // the data that is here already
	Next func() ([]byte, error)
}

func (r *Received) Read(p []byte) (int, error) {
	for len(r.Rest) == 0 {
		data, err := r.Next()
		if err != nil {
			return 0, err
		}
		r.Rest = data
	}
	n := copy(p, r.Rest)
	r.Rest = r.Rest[n:]
	return n, nil
}

// IsEnd reports whether a stream came to its orderly end, which gRPC says with the
// value itself.
func IsEnd(err error) bool { return err == io.EOF } //nolint:errorlint // an error that wraps it is another
