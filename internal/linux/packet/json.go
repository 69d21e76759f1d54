package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Encode writes a value in the one form that [Decode] takes.
func Encode(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing a message: %w", err)
	}
	return data, nil
}

// Decode reads a value, and refuses all forms but that of [Encode].
func Decode(data []byte, value any) error {
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	again, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	if !bytes.Equal(data, again) {
		return errors.New("reading a message: it has another form than that in which it is written, such as an unknown field, a field twice or bytes behind its end")
	}
	return nil
}
