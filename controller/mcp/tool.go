package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/strictjson"
)

// call is one call of a tool, as the function that serves it sees it.
type call struct {
	request *sdk.CallToolRequest
	client  string
}

// kind is the effect of a tool on its environment, for the annotations that clients ask their users by.
type kind int

const (
	reads    kind = iota // makes no change
	adds                 // makes something new
	replaces             // can change or remove something that is there
)

// tool describes one tool, without the function that serves it.
type tool struct {
	name, title, description string
	kind                     kind
}

func (t tool) annotations() *sdk.ToolAnnotations {
	destructive, openWorld := t.kind == replaces, false
	return &sdk.ToolAnnotations{
		Title: t.title, ReadOnlyHint: t.kind == reads, IdempotentHint: t.kind == reads,
		DestructiveHint: &destructive, OpenWorldHint: &openWorld,
	}
}

// addTool makes a tool of a function. In gives the schema of its arguments and Out that of its result.
// Content that the function returns is for the model to read; nil means the result as JSON.
func addTool[In, Out any](s *Server, t tool, serve func(context.Context, call, In) (Out, []sdk.Content, error)) error {
	if len(s.config.Tools) > 0 && !slices.Contains(s.config.Tools, t.name) {
		return nil
	}
	input, err := schemaOf[In]()
	if err != nil {
		return err
	}
	output, err := schemaOf[Out]()
	if err != nil {
		return err
	}
	described := &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description, Annotations: t.annotations(), InputSchema: input, OutputSchema: output,
	}
	s.sdk.AddTool(described, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		begin := time.Now()
		result, err := answer(ctx, s, t, input.Required, req, serve)
		s.log.DebugContext(ctx, "MCP tool called", "tool", t.name, "client", clientOf(req), "duration_ms", float64(time.Since(begin))/float64(time.Millisecond), "error", err)
		if err != nil {
			return s.failed(ctx, t.name, err), nil
		}
		return result, nil
	})
	return nil
}

// answer serves one call.
func answer[In, Out any](ctx context.Context, s *Server, t tool, required []string, req *sdk.CallToolRequest, serve func(context.Context, call, In) (Out, []sdk.Content, error)) (_ *sdk.CallToolResult, err error) {
	done, err := s.begin()
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, leave, err := s.admit(ctx, req.Extra, operationPrefix+t.name)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, disconnect := s.connected(ctx, req)
	defer disconnect()
	c := call{request: req, client: clientOf(req)}
	ended, err := s.clients.enter(c.client)
	if err != nil {
		return nil, err
	}
	defer ended()
	in, err := decode[In](req.Params.Arguments, required)
	if err != nil {
		return nil, err
	}
	recorded, err := s.record(ctx, t, req)
	if err != nil {
		return nil, err
	}
	var structured json.RawMessage
	defer func() { recorded(structured, err) }()
	out, content, err := serve(ctx, c, in)
	if err != nil {
		return nil, err
	}
	structured, err = encode(out)
	if err != nil {
		return nil, err
	}
	if content == nil {
		content = []sdk.Content{&sdk.TextContent{Text: string(structured)}}
	}
	return &sdk.CallToolResult{Content: content, StructuredContent: structured}, nil
}

func encode(v any) (json.RawMessage, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the result of a tool: %w", err)
	}
	return bytes.TrimSpace(buffer.Bytes()), nil
}

// decode reads the arguments of a call, which must have those that are required.
func decode[In any](arguments json.RawMessage, required []string) (In, error) {
	var in In
	if len(bytes.TrimSpace(arguments)) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	decoder := strictjson.Decoder{Whole: "tool's input", KeepsNull: func(t reflect.Type) bool { return t == reflect.TypeFor[json.RawMessage]() }}
	if err := decoder.Decode(arguments, &in); err != nil {
		return in, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return in, yurt.Errorf(yurt.CodeMalformedBody, "the tool's input is not JSON")
	}
	for _, name := range required {
		if value, given := members[name]; !given || string(value) == "null" {
			hint := ""
			if name == "sandbox_id" {
				hint = "; create_sandbox makes a sandbox, and list_sandboxes shows those that there are"
			}
			return in, yurt.FieldErrorf(yurt.CodeInvalidArgument, name, "the argument is missing; the tool needs %s%s", strings.Join(required, ", "), hint)
		}
	}
	return in, nil
}

// failed is the result of a call that failed, for the model to read. An error without a code is a fault
// of the server: the log has it, and the client is told no more than that.
func (s *Server) failed(ctx context.Context, name string, err error) *sdk.CallToolResult {
	var coded *yurt.Error
	code := yurt.CodeOf(err)
	var message, field string
	switch {
	case errors.As(err, &coded):
		code, message, field = coded.Code, coded.Message, coded.Field
	case code == yurt.CodeCanceled:
		message = "the call was canceled"
	case code == yurt.CodeDeadlineExceeded:
		message = "the call took longer than it may"
	default:
		code, message = yurt.CodeInternal, "the server failed; its log says more"
	}
	if code == yurt.CodeInternal {
		s.log.ErrorContext(ctx, "MCP tool failed", "tool", name, "error", err)
	}
	text := string(code) + ": " + message
	if field != "" {
		text = string(code) + ": " + field + ": " + message
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// schemaOf returns the JSON schema of a type. A field without omitempty or omitzero is required. Null is
// no value of any field: an optional field is left out.
func schemaOf[T any]() (*jsonschema.Schema, error) {
	either := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Types: []string{"number", "string"}, Description: description}
	}
	schema, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[duration]():        either(`Seconds, or text such as "30s".`),
		reflect.TypeFor[size]():            either(`Bytes, or text such as "512Mi".`),
		reflect.TypeFor[json.RawMessage](): {Description: "Any JSON value."},
		reflect.TypeFor[objectData]():      {Type: "object"},
		reflect.TypeFor[base64Data]():      {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[mode]():            {Type: "string", Description: "Three octal digits, such as 644."},
	}})
	if err != nil {
		return nil, fmt.Errorf("making the schema of a tool: %w", err)
	}
	withoutNull(schema)
	return schema, nil
}

func withoutNull(schema *jsonschema.Schema) {
	if schema == nil {
		return
	}
	schema.Types = slices.DeleteFunc(schema.Types, func(t string) bool { return t == "null" })
	if len(schema.Types) == 1 {
		schema.Type, schema.Types = schema.Types[0], nil
	}
	for _, property := range schema.Properties {
		withoutNull(property)
	}
	withoutNull(schema.Items)
	withoutNull(schema.AdditionalProperties)
}
