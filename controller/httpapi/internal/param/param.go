// Package param has the values in the bodies of requests: each reads the forms that clients may send, describes them in the
// OpenAPI document, and never shows a refused value in an error.
package param

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/httpapi/internal/bounds"
	"github.com/yurtrun/yurt/internal/wholenumber"
)

// shellLine is the pattern of a line for the shell, which is not blank.
const shellLine = `^[^\x00]*[^\x00\s][^\x00]*$`

// Patterns of numbers with a unit as text, in the forms that the documentation shows.
const (
	numberPattern   = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	sizePattern     = `^` + numberPattern + ` ?([KMGT]i?B?|kB?|B)?$`
	durationPattern = `^(` + numberPattern + `|(` + numberPattern + `(ns|us|µs|ms|s|m|h))+)$`
	cpuPattern      = `^` + numberPattern + `m?$`
)

// Duration is a duration in a request.
type Duration yurt.Duration

// UnmarshalJSON implements json.Unmarshaler. Its error does not show the value.
func (d *Duration) UnmarshalJSON(data []byte) error {
	err := (*yurt.Duration)(d).UnmarshalJSON(data)
	switch yurt.CodeOf(err) {
	case "":
		return nil
	case yurt.CodeLimitOutOfRange:
		return yurt.Errorf(yurt.CodeLimitOutOfRange, "the value is beyond what a duration can hold, or less than a nanosecond")
	default:
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value is not a duration; give seconds, or a string such as \"30s\" or \"1h30m\"")
	}
}

// Schema implements huma.SchemaProvider.
func (Duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeNumber, Description: "seconds"},
			{Type: huma.TypeString, Pattern: durationPattern, Description: "such as \"30s\" or \"1h30m\""},
		},
		Examples: []any{30, "30s"},
	}
}

// Size is a number of bytes in a request.
type Size yurt.Size

// UnmarshalJSON implements json.Unmarshaler. Its error does not show the value.
func (s *Size) UnmarshalJSON(data []byte) error {
	err := (*yurt.Size)(s).UnmarshalJSON(data)
	switch yurt.CodeOf(err) {
	case "":
		return nil
	case yurt.CodeLimitOutOfRange:
		return yurt.Errorf(yurt.CodeLimitOutOfRange, "the value is beyond what a size can hold, or less than a byte")
	default:
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value is not a size; give bytes, or a string such as \"512Mi\" or \"1.5GB\"")
	}
}

// Schema implements huma.SchemaProvider.
func (Size) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeNumber, Description: "bytes; a fraction is dropped"},
			{Type: huma.TypeString, Pattern: sizePattern, Description: "such as \"512Mi\" or \"1.5GB\""},
		},
		Examples: []any{536870912, "512Mi"},
	}
}

// CPU is a number of cores in a request.
type CPU yurt.CPU

// UnmarshalJSON implements json.Unmarshaler. Its error does not show the value.
func (c *CPU) UnmarshalJSON(data []byte) error {
	err := (*yurt.CPU)(c).UnmarshalJSON(data)
	switch yurt.CodeOf(err) {
	case "":
		return nil
	case yurt.CodeLimitOutOfRange:
		return yurt.Errorf(yurt.CodeLimitOutOfRange, "the value is beyond what a number can hold; give %v to %v cores", yurt.MinCPU, yurt.MaxCPU)
	default:
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value is not a number of cores; give one such as 0.5, or a string such as \"1\" or \"500m\" (thousandths of a core)")
	}
}

// Schema implements huma.SchemaProvider.
func (CPU) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeNumber, Description: "cores"},
			{Type: huma.TypeString, Pattern: cpuPattern, Description: "cores such as \"1\", or thousandths of a core such as \"500m\""},
		},
		Examples: []any{0.5, "1", "500m"},
	}
}

// Count is a whole number in a request.
type Count int

// UnmarshalJSON implements json.Unmarshaler. Its error does not show the value.
func (c *Count) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(wholenumber.Plain(data))
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value is not a whole number; give one such as 64, or \"64\"")
	}
	*c = Count(n)
	return nil
}

// Schema implements huma.SchemaProvider.
func (Count) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeInteger},
			{Type: huma.TypeString, Pattern: "^[0-9]+$", Description: "the same as text"},
		},
		Examples: []any{64, "64"},
	}
}

// Signal is a signal in a request, by name or number.
type Signal yurt.Signal

// UnmarshalJSON implements json.Unmarshaler.
func (s *Signal) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	signal, err := yurt.ParseSignal("", text)
	*s = Signal(signal)
	return err
}

// Schema implements huma.SchemaProvider.
func (Signal) Schema(huma.Registry) *huma.Schema {
	least, most := 1.0, float64(yurt.MaxSignal)
	return &huma.Schema{
		OneOf:    []*huma.Schema{{Type: huma.TypeString, Description: "a name"}, {Type: huma.TypeInteger, Description: "a number", Minimum: &least, Maximum: &most}},
		Examples: []any{"SIGINT", 2},
	}
}

// Command is a command in a request: a line for the shell, or a program with
// its arguments.
type Command []string

// UnmarshalJSON implements json.Unmarshaler.
func (c *Command) UnmarshalJSON(data []byte) error {
	var line string
	if json.Unmarshal(data, &line) == nil {
		*c = execution.ShellCommand(line)
		return nil
	}
	argv := []*string{}
	if json.Unmarshal(data, &argv) != nil {
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value must be a string (a line for the shell) or an array of strings (a program and its arguments)")
	}
	*c = make(Command, len(argv))
	for i, arg := range argv {
		if arg == nil {
			return yurt.Errorf(yurt.CodeInvalidArgument, "element %s must be a string", strconv.Itoa(i))
		}
		(*c)[i] = *arg
	}
	return nil
}

// Schema implements huma.SchemaProvider.
func (Command) Schema(huma.Registry) *huma.Schema {
	least, most := 1, yurt.MaxArgs
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeString, Pattern: shellLine, Description: "a line for /bin/sh"},
			{
				Type: huma.TypeArray, Description: "a program and its arguments", MinItems: &least, MaxItems: &most,
				Items: &huma.Schema{Type: huma.TypeString, Pattern: bounds.WithoutNUL},
			},
		},
		Examples: []any{"ls -l | wc -l", []string{"ls", "-l"}},
	}
}

// Context is the name of a context, for code, or the fields of a handler's.
type Context struct {
	Name   *string
	Fields json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler. The domain reports errors in the fields.
func (c *Context) UnmarshalJSON(data []byte) error {
	var name string
	switch {
	case string(data) == "null":
	case json.Unmarshal(data, &name) == nil:
		c.Name = &name
	case data[0] != '{':
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value must be a string (the name of a context) or an object (fields of a handler's context)")
	default:
		c.Fields = append(json.RawMessage(nil), data...)
	}
	return nil
}

// Schema implements huma.SchemaProvider.
func (Context) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeString, Pattern: `^[A-Za-z0-9._-]{0,64}$`, Description: "For code: name of the context, which keeps variables, imports and the working directory between executions. Empty: a fresh interpreter. Default: `default` in a persistent session, for a language that keeps state."},
			{Type: huma.TypeObject, Description: "For a handler: fields that override its context object."},
		},
		Examples: []any{"default", map[string]any{"function_name": "report"}},
	}
}

// Handler is the name of a handler, or null for code that is run as it is.
type Handler struct {
	Name  string
	Plain bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Handler) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		h.Plain = true
		return nil
	}
	if json.Unmarshal(data, &h.Name) != nil {
		return yurt.Errorf(yurt.CodeInvalidArgument, "the value must be a string (the name of a function) or null")
	}
	return nil
}

// Schema implements huma.SchemaProvider.
func (Handler) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Nullable: true, Examples: []any{"handler"},
		Description: "Name of the function in the code to call with the event. Default: `handler` if the request has an event, or if the code only defines things, that function among them. " +
			"Null runs the code without calling a function. With a command, the name of the handler in the program, which gets its events from the Lambda Runtime API.",
	}
}

// KeepsNull reports whether null is a value of a field of that type, and not as if the field
// were not there.
func KeepsNull(t reflect.Type) bool {
	return t == reflect.TypeFor[JSON]() || t == reflect.TypeFor[Handler]()
}

// JSON is any JSON value.
type JSON json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (j *JSON) UnmarshalJSON(data []byte) error {
	return (*json.RawMessage)(j).UnmarshalJSON(data)
}

// Schema implements huma.SchemaProvider.
func (JSON) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// seconds and bytes are how durations and sizes look in an answer.
type seconds float64

// Schema implements huma.SchemaProvider.
func (seconds) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Description: "seconds"}
}

type byteCount int64

// Schema implements huma.SchemaProvider.
func (byteCount) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Description: "bytes"}
}

// AliasDomainTypes tells huma how types of the domain look in JSON: the domain does
// not know huma.
func AliasDomainTypes(registry huma.Registry) {
	registry.RegisterTypeAlias(reflect.TypeFor[yurt.Duration](), reflect.TypeFor[seconds]())
	registry.RegisterTypeAlias(reflect.TypeFor[yurt.Size](), reflect.TypeFor[byteCount]())
	registry.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[JSON]())
}
