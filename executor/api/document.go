package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/yurtrun/yurt"
)

const (
	// maxMessage bounds one message. The largest is a specification with its source
	// text, standard input and event, all of which have limits.
	maxMessage = 64 << 20
	// maxPart is the size of one part of a larger value, in bytes.
	maxPart = 256 << 10
	// maxDocument bounds a value that is joined from parts, in bytes: a result.
	maxDocument = 1 << 30
)

// encode returns the JSON form of a value of the domain.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // which would make it six times as large
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", value, err)
	}
	return out.Bytes(), nil
}

// encodeAll returns the JSON form of each.
func encodeAll[T any](values []T) ([][]byte, error) {
	list := make([][]byte, len(values))
	for i, value := range values {
		data, err := encode(value)
		if err != nil {
			return nil, err
		}
		list[i] = data
	}
	return list, nil
}

// decodeRequest decodes a value that the executor must act on. It refuses a field that it does not know: that field
// might ask for an isolation, for instance, which the executor would not apply.
func decodeRequest(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return yurt.Errorf(yurt.CodeMalformedBody, "the specification cannot be read: %s; is the executor older than its caller?", err.Error())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return yurt.Errorf(yurt.CodeMalformedBody, "the specification does not end where it should")
	}
	return nil
}

// decodeAnswer reads a value that the executor tells.
func decodeAnswer(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return yurt.Errorf(yurt.CodeInternal, "reading the executor's answer: %w", err)
	}
	return nil
}

// decodeAll reads values that the executor tells.
func decodeAll[T any](list [][]byte) ([]T, error) {
	values := make([]T, len(list))
	for i, data := range list {
		if err := decodeAnswer(data, &values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// parts calls send with data in parts, at least one, and whether more follow.
func parts(data []byte, send func(part []byte, more bool) error) error {
	for len(data) > maxPart {
		if err := send(data[:maxPart], true); err != nil {
			return err
		}
		data = data[maxPart:]
	}
	return send(data, false)
}

// document puts parts together.
type document struct{ bytes.Buffer }

func (d *document) add(part []byte) error {
	if d.Len()+len(part) > maxDocument {
		return yurt.Errorf(yurt.CodeInternal, "the executor's answer exceeds %s", yurt.Size(maxDocument))
	}
	d.Write(part)
	return nil
}
