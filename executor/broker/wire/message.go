package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/yurtrun/yurt/executor/failure"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// message is a request, in the direction of the broker. Its number is that of its answer. It has one form, that of these fields in JSON,
// which is written and read by hand: that takes a tenth of the time.
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

// The beginnings of the fields.
const (
	beginID    = `{"id":`
	beginKind  = `,"kind":"`
	beginArgs  = `,"args":`
	beginValue = `,"value":`
)

// kindLetters are those of the names of kinds.
const kindLetters = "abcdefghijklmnopqrstuvwxyz_"

// encode writes a message. Its arguments are from [packet.Encode].
func (m message) encode() []byte {
	data := make([]byte, 0, len(beginID)+20+len(beginKind)+len(m.Kind)+1+len(beginArgs)+len(m.Args)+1)
	data = strconv.AppendUint(append(data, beginID...), m.ID, 10)
	data = append(append(append(data, beginKind...), m.Kind...), '"')
	return closed(data, beginArgs, m.Args)
}

// closed appends the last field, which may be empty.
func closed(data []byte, name string, value json.RawMessage) []byte {
	if len(value) > 0 {
		data = append(append(data, name...), value...)
	}
	return append(data, '}')
}

// errForm says that a message is in another form than the one of [message.encode].
var errForm = errors.New("reading a message: it has another form than that in which it is written")

// decodeMessage reads a message, and refuses all forms but that of encode. The arguments are JSON without spaces, and
// [packet.Decode] refuses all but one form of them.
func decodeMessage(data []byte) (m message, err error) {
	id, rest := cutID(data)
	rest, ok := bytes.CutPrefix(rest, []byte(beginKind))
	if !ok || id == nil {
		return m, errForm
	}
	name, rest, ok := bytes.Cut(rest, []byte{'"'})
	if !ok || len(bytes.Trim(name, kindLetters)) > 0 {
		return m, errForm
	}
	m.ID, m.Kind = *id, kind(name)
	m.Args, err = cutLast(rest, beginArgs)
	return m, err
}

// cutID reads the number with which messages begin; nil without one.
func cutID(data []byte) (id *uint64, rest []byte) {
	rest, ok := bytes.CutPrefix(data, []byte(beginID))
	if !ok {
		return nil, nil
	}
	digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || len(digits) > 1 && digits[0] == '0' {
		return nil, nil
	}
	return &n, rest[len(digits):]
}

// cutLast reads the last field, which may be missing, to the end of the message.
func cutLast(rest []byte, name string) (json.RawMessage, error) {
	if string(rest) == "}" {
		return nil, nil
	}
	value, ok := bytes.CutPrefix(rest, []byte(name))
	if !ok || !bytes.HasSuffix(value, []byte{'}'}) {
		return nil, errForm
	}
	value = value[:len(value)-1]
	var compact bytes.Buffer
	compact.Grow(len(value))
	if err := json.Compact(&compact, value); err != nil || !bytes.Equal(compact.Bytes(), value) {
		return nil, errForm
	}
	return compact.Bytes(), nil
}

// encode writes an answer. Its value is from [packet.Encode]. Errors are rare, and written as packet has it.
func (a answer) encode() ([]byte, error) {
	if a.Error != nil {
		return packet.Encode(a)
	}
	data := make([]byte, 0, len(beginID)+20+len(beginValue)+len(a.Value)+1)
	return closed(strconv.AppendUint(append(data, beginID...), a.ID, 10), beginValue, a.Value), nil
}

// decodeAnswer reads an answer, and refuses all forms but that of encode.
func decodeAnswer(data []byte) (a answer, err error) {
	id, rest := cutID(data)
	if id == nil {
		return a, errForm
	}
	if bytes.HasPrefix(rest, []byte(`,"error":`)) {
		err = packet.Decode(data, &a)
		return a, err
	}
	a.ID = *id
	a.Value, err = cutLast(rest, beginValue)
	return a, err
}
