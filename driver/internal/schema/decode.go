package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/yurtrun/yurt"
)

// maxConfig bounds the configuration of a task or the operator, in bytes. A job may bring source text with it.
const maxConfig = 16 << 20

// Fraction is a number that need not be whole. One that has no exact form in binary, such
// as 0.1, comes as text.
type Fraction float64

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Fraction) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	n, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil {
		return fmt.Errorf("%s is no number", text)
	}
	*f = Fraction(n)
	return nil
}

// Decode reads a configuration as Nomad sends it: a value of the schema, in MessagePack.
func Decode(data []byte, into any) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) > maxConfig {
		return yurt.FieldErrorf(yurt.CodeBodyTooLarge, "config", "it has %s; give at most %s", yurt.Size(len(data)), yurt.Size(maxConfig))
	}
	if err := wellFormed(data); err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "config", "reading the configuration: %w", err)
	}
	kind, err := msgpack.ImpliedType(data)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	value, err := msgpack.Unmarshal(data, kind)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	text, err := ctyjson.SimpleJSONValue{Value: value}.MarshalJSON()
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return yurt.FieldErrorf(yurt.CodeUnknownField, "config", "reading the configuration: %w", err)
	}
	return nil
}
