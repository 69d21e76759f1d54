package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
	"github.com/yurtrun/yurt/plugins/internal/text"
)

// MaxEnvelopeBytes bounds the envelope of a run: the largest result, or an error with its stack trace. A reader of [ResultFD]
// stops after one byte more.
const MaxEnvelopeBytes = yurt.MaxResultBytes + 64<<10

// Bounds of an error that a run reports. A longer one is cut, with a mark.
const (
	maxErrorTypeBytes = 256
	maxStackLines     = 256
	maxStackLineBytes = 4 << 10
)

// Outcome is the content of a run's envelope.
type Outcome struct {
	Result json.RawMessage // valid JSON in UTF-8; nil beside an error
	Error  *yurt.ExecutionError
	// Handler is the function that was called, where code was taken for a handler.
	Handler string
	// Cut says that Result is null because the value was too large.
	Cut bool
}

// DecodeEnvelope reads the bytes that a run wrote to [ResultFD]. Users can forge them, so it takes only one JSON object of the
// allowed shapes, which holds either a result, which is valid JSON in UTF-8, or an error whose fields have bounded lengths. An
// error never has one of the types that only Yurt itself gives, such as [yurt.ErrorTypeSandboxLost]: those get the prefix
// "user.". Beside it may be "handler", the name of the function that was called, and "cut", true.
//
// err names the fault of the bytes; it is then the fault of the run.
func DecodeEnvelope(data []byte) (Outcome, error) {
	switch {
	case len(data) == 0:
		return Outcome{}, errors.New("the run wrote no result")
	case len(data) > MaxEnvelopeBytes:
		return Outcome{}, fmt.Errorf("the run's result envelope exceeds %d bytes", MaxEnvelopeBytes)
	case !utf8.Valid(data):
		return Outcome{}, errors.New("the run's result envelope is not UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return Outcome{}, fmt.Errorf("the run's result envelope is not a JSON object: %w", err)
	}
	outcome, err := decodeRemarks(fields)
	if err != nil {
		return Outcome{}, err
	}
	if len(fields) != 1 {
		return Outcome{}, fmt.Errorf("the run's result envelope has %d fields beside handler and cut; it must have one, result or error", len(fields))
	}
	if value, ok := fields["result"]; ok {
		if len(value) > yurt.MaxResultBytes {
			outcome.Error = tooLarge(len(value))
			return outcome, nil
		}
		outcome.Result = value
		return outcome, nil
	}
	value, ok := fields["error"]
	if !ok {
		return Outcome{}, errors.New("the run's result envelope has neither result nor error")
	}
	if outcome.Error, err = decodeExecutionError(value); err != nil {
		return Outcome{}, err
	}
	return outcome, nil
}

// decodeRemarks takes the members beside result or error out of the fields.
func decodeRemarks(fields map[string]json.RawMessage) (Outcome, error) {
	var outcome Outcome
	for name, into := range map[string]any{"handler": &outcome.Handler, "cut": &outcome.Cut} {
		value, ok := fields[name]
		if !ok {
			continue
		}
		delete(fields, name)
		if err := json.Unmarshal(value, into); err != nil {
			return Outcome{}, fmt.Errorf("the %s in the run's result envelope has the wrong type: %w", name, err)
		}
	}
	if outcome.Handler == "" {
		return outcome, nil
	}
	return outcome, yurt.ValidateName("handler", outcome.Handler)
}

func tooLarge(size int) *yurt.ExecutionError {
	return &yurt.ExecutionError{
		Type:       yurt.ErrorTypeResultTooLarge,
		Message:    fmt.Sprintf("the result has %d bytes of JSON; at most %d are allowed", size, yurt.MaxResultBytes),
		Stacktrace: []string{},
	}
}

func decodeExecutionError(data []byte) (*yurt.ExecutionError, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("the error in the run's result envelope is not an object: %w", err)
	}
	var wire struct {
		kind, message string
		stack         []string
	}
	for name, value := range fields {
		var into any
		switch name {
		case "type":
			into = &wire.kind
		case "message":
			into = &wire.message
		case "stacktrace":
			into = &wire.stack
		default:
			return nil, fmt.Errorf("the error in the run's result envelope has an unknown field %s", text.Quote(name))
		}
		if err := json.Unmarshal(value, into); err != nil {
			return nil, fmt.Errorf("the error's %s in the run's result envelope has the wrong type: %w", name, err)
		}
	}
	bounded := BoundedError(wire.kind, wire.message, wire.stack)
	if bounded == nil {
		return nil, errors.New("the error in the run's result envelope has no type")
	}
	return bounded, nil
}

// BoundedError returns an error that a run, or a runtime that read its output, reports: with bounded lengths, and
// without a type that only Yurt gives. It returns nil where kind is empty.
func BoundedError(kind, message string, stack []string) *yurt.ExecutionError {
	if kind = errorType(kind); kind == "" {
		return nil
	}
	return &yurt.ExecutionError{Type: kind, Message: text.Cut(message, protocol.MaxErrorBytes), Stacktrace: boundStack(stack)}
}

// errorType makes a type that a run reports safe to show and to switch on.
func errorType(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, name)
	switch name = text.Cut(name, maxErrorTypeBytes); name {
	case yurt.ErrorTypeTimeout, yurt.ErrorTypeOutOfMemory, yurt.ErrorTypeCommandNotFound, yurt.ErrorTypeSignaled,
		yurt.ErrorTypeSandboxLost, yurt.ErrorTypeSessionEnded, yurt.ErrorTypeNonZeroExit, yurt.ErrorTypeSandboxFailed,
		yurt.ErrorTypeRuntimeUnavailable, yurt.ErrorTypeKernelDied:
		return "user." + name
	}
	return name
}

// boundStack keeps both ends of a long stack trace: the outermost lines say how
// it began, the innermost where it failed.
func boundStack(lines []string) []string {
	bounded := make([]string, 0, min(len(lines), maxStackLines+1))
	for i, line := range lines {
		if skipped := len(lines) - maxStackLines; skipped > 0 && i >= maxStackLines/2 && i < maxStackLines/2+skipped {
			if i == maxStackLines/2 {
				bounded = append(bounded, fmt.Sprintf("  [%d lines left out]", skipped))
			}
			continue
		}
		bounded = append(bounded, text.Cut(line, maxStackLineBytes))
	}
	return bounded
}
