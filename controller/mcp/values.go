package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/yurtrun/yurt"
)

// The types of arguments that JSON has no type for. Their errors say which values are allowed and, unlike
// those of the domain, do not show the value.

// duration is a time, in seconds or as text.
type duration yurt.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *duration) UnmarshalJSON(data []byte) error {
	if err := (*yurt.Duration)(d).UnmarshalJSON(data); err != nil {
		return yurt.Errorf(yurt.CodeOf(err), "the value is not a duration; give seconds, or text such as \"30s\" or \"1h30m\"")
	}
	return nil
}

func (d *duration) value() *yurt.Duration { return (*yurt.Duration)(d) }

// size is a number of bytes, or text.
type size yurt.Size

// UnmarshalJSON implements json.Unmarshaler.
func (s *size) UnmarshalJSON(data []byte) error {
	if err := (*yurt.Size)(s).UnmarshalJSON(data); err != nil {
		return yurt.Errorf(yurt.CodeOf(err), "the value is not a size; give bytes, or text such as \"512Mi\"")
	}
	return nil
}

func (s *size) value() *yurt.Size { return (*yurt.Size)(s) }

// mode is the permission bits of a file, in octal text.
type mode yurt.FileMode

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *mode) UnmarshalText(text []byte) error {
	if err := (*yurt.FileMode)(m).UnmarshalText(text); err != nil {
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value is not a file mode; give three octal digits, such as \"644\"")
	}
	return nil
}

// base64Data is data that JSON has in base64.
type base64Data []byte

// UnmarshalJSON implements json.Unmarshaler.
func (b *base64Data) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*[]byte)(b)); err != nil {
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value is not base64; give the bytes of the file in the standard base64 of RFC 4648")
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (b base64Data) MarshalJSON() ([]byte, error) { return json.Marshal([]byte(b)) }

// objectData is a JSON object as the client wrote it.
type objectData json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (o *objectData) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value must be an object")
	}
	return (*json.RawMessage)(o).UnmarshalJSON(data)
}
