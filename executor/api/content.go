package api

import (
	"errors"
	"io"
	"slices"
)

// sendAll calls send with all that the reader has, in parts.
func sendAll(content io.Reader, send func([]byte) error) error {
	for {
		// Each part has a new buffer: a sent one may not be written to again.
		buf := make([]byte, maxPart)
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

// sender is a writer that sends its input.
type sender func(data []byte) error

func (s sender) Write(data []byte) (int, error) {
	err := parts(data, func(part []byte, _ bool) error { return s(slices.Clone(part)) })
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

// received reads data that comes in messages. A stream that breaks is an error, and
// never an end.
type received struct {
	rest []byte
	next func() ([]byte, error)
}

func (r *received) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		data, err := r.next()
		if err != nil {
			return 0, err
		}
		r.rest = data
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
