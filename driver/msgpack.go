package driver

import (
	"bytes"
	"encoding/json"
	"fmt"

	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/yurtrun/yurt"
)

// maxConfig bounds what a task or the operator may configure, in bytes. A job may bring
// source text with it.
const maxConfig = 16 << 20

// decode reads a configuration as Nomad sends it: a value of the schema, in MessagePack.
func decode(data []byte, into any) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) > maxConfig {
		return yurt.FieldErrorf(yurt.CodeBodyTooLarge, "config", "it has %s; give at most %s", yurt.Size(len(data)), yurt.Size(maxConfig))
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
