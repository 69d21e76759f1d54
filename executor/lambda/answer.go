package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

const (
	errorTypeHeader = "Lambda-Runtime-Function-Error-Type"
	errorBodyHeader = "Lambda-Runtime-Function-Error-Body"
	// unknownError is the type that Lambda gives to an error without a type.
	unknownError = "Runtime.Unknown"
	maxType      = 256      // bytes of the type of an error
	maxMessage   = 64 << 10 // bytes of its message
	maxStack     = 256      // lines
	maxStackLine = 4 << 10  // bytes
)

// decodeResult makes JSON of a response: JSON as it is, other text as a string, other
// bytes as an object with their base64.
func decodeResult(body []byte) (json.RawMessage, *yurt.ExecutionError) {
	var result json.RawMessage
	var value any
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return json.RawMessage("null"), nil
	case utf8.Valid(body) && json.Valid(body):
		result = body
	case utf8.Valid(body):
		value = string(body)
	default:
		value = map[string][]byte{"base64": body}
	}
	if value != nil {
		var encoded bytes.Buffer
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return nil, &yurt.ExecutionError{Type: yurt.ErrorTypeNotSerializable, Message: err.Error(), Stacktrace: []string{}}
		}
		result = bytes.TrimSpace(encoded.Bytes())
	}
	if len(result) > yurt.MaxResultBytes {
		return nil, &yurt.ExecutionError{
			Type:    yurt.ErrorTypeResultTooLarge,
			Message: fmt.Sprintf("the result has %d bytes of JSON; at most %d are allowed", len(result), yurt.MaxResultBytes), Stacktrace: []string{},
		}
	}
	return result, nil
}

// decodeError decodes Lambda's shape of an error. Malformed input yields an error too.
func decodeError(body []byte, kind string) *yurt.ExecutionError {
	var wire struct {
		Type    any               `json:"errorType"`
		Message any               `json:"errorMessage"`
		Stack   []json.RawMessage `json:"stackTrace"`
		Trace   []json.RawMessage `json:"trace"` // as Node's client calls it
	}
	if len(body) > 0 && json.Unmarshal(body, &wire) != nil {
		wire.Message = string(body)
	}
	if given, ok := wire.Type.(string); ok && given != "" {
		kind = given
	}
	if kind == "" {
		kind = unknownError
	}
	message, _ := wire.Message.(string)
	failed := &yurt.ExecutionError{Type: cut(kind, maxType), Message: cut(message, maxMessage), Stacktrace: []string{}}
	for _, line := range append(wire.Stack, wire.Trace...) {
		if len(failed.Stacktrace) == maxStack {
			break
		}
		failed.Stacktrace = append(failed.Stacktrace, cut(stackLine(line), maxStackLine))
	}
	return failed
}

// stackLine makes text of a line: Python and Node send strings, Go sends objects.
func stackLine(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	var frame struct {
		Path  string `json:"path"`
		Line  int    `json:"line"`
		Label string `json:"label"`
	}
	if json.Unmarshal(data, &frame) == nil && frame.Path != "" {
		return fmt.Sprintf("%s:%d %s", frame.Path, frame.Line, frame.Label)
	}
	return string(data)
}

// responseTooLarge is Lambda's error for a response beyond its bound.
func responseTooLarge() *yurt.ExecutionError {
	return &yurt.ExecutionError{
		Type:    "Function.ResponseSizeTooLarge",
		Message: fmt.Sprintf("the response has more than %d bytes, as many as are allowed", MaxBody), Stacktrace: []string{},
	}
}

// cut shortens text to at most limit bytes, and makes UTF-8 of it.
func cut(text string, limit int) string {
	text = string(bytes.ToValidUTF8([]byte(text), []byte("\ufffd")))
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
