// Package wire has the forms in which values of the domain and errors travel between an executor and its callers, and the parts
// in which a value travels that is larger than a message may be.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/yurtrun/yurt"
)

const (
	// MaxMessage bounds one message. The largest is a specification with its source
	// text, standard input and event, all of which have limits.
	MaxMessage = 64 << 20
	// MaxPart is the size of one part of a larger value, in bytes.
	MaxPart = 256 << 10
	// maxDocument bounds a value that is joined from parts, in bytes: a result.
	maxDocument = 1 << 30
)

// Encode returns the JSON form of a value of the domain.
func Encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // which would make it six times as large
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", value, err)
	}
	return out.Bytes(), nil
}

// EncodeAll returns the JSON form of each.
func EncodeAll[T any](values []T) ([][]byte, error) {
	list := make([][]byte, len(values))
	for i, value := range values {
		data, err := Encode(value)
		if err != nil {
			return nil, err
		}
		list[i] = data
	}
	return list, nil
}

// DecodeRequest decodes a value that the executor must act on. It refuses a field that it does not know: that field
// might ask for an isolation, for instance, which the executor would not apply.
func DecodeRequest(data []byte, into any) error {
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

// DecodeAnswer reads a value that the executor tells.
func DecodeAnswer(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return yurt.Errorf(yurt.CodeInternal, "reading the executor's answer: %w", err)
	}
	return nil
}

// DecodeAll reads values that the executor tells.
func DecodeAll[T any](list [][]byte) ([]T, error) {
	values := make([]T, len(list))
	for i, data := range list {
		if err := DecodeAnswer(data, &values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Parts calls send with data in parts, at least one, and whether more follow.
func Parts(data []byte, send func(part []byte, more bool) error) error {
	for len(data) > MaxPart {
		if err := send(data[:MaxPart], true); err != nil {
			return err
		}
		data = data[MaxPart:]
	}
	return send(data, false)
}

// Document puts parts together.
type Document struct{ bytes.Buffer }

// Add appends a part.
func (d *Document) Add(part []byte) error {
	if d.Len()+len(part) > maxDocument {
		return yurt.Errorf(yurt.CodeInternal, "the executor's answer exceeds %s", yurt.Size(maxDocument))
	}
	d.Write(part)
	return nil
}
