package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/yurtrun/yurt/executor/failure"
)

// message is a request, in the direction of the broker. Its number is that of its answer.
type message struct {
	ID   uint64          `json:"id"`
	Kind kind            `json:"kind"`
	Args json.RawMessage `json:"args,omitempty"`
}

// answer is the end of a request: its error, or its value where it has one.
type answer struct {
	ID    uint64           `json:"id"`
	Error *failure.Failure `json:"error,omitempty"`
	Value json.RawMessage  `json:"value,omitempty"`
}

// encode writes a value in the one form that decode takes.
func encode(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing a message: %w", err)
	}
	return data, nil
}

// decode reads a value, and refuses all forms but that of encode.
func decode(data []byte, value any) error {
	fields := json.NewDecoder(bytes.NewReader(data))
	fields.DisallowUnknownFields()
	if err := fields.Decode(value); err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	again, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	if !bytes.Equal(data, again) {
		return errors.New("reading a message: it has another form than that in which it is written, such as a field twice or bytes behind its end")
	}
	return nil
}
