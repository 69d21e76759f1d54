package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt/controller/mcp"
)

// The suite calls tools, prompts and resources by the names that its own example server has. They are
// served as those of Yurt are.

type result = sdk.CallToolResult

const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	sound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

func decoded(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

// serveFixture serves the server of the suite and returns its address.
func serveFixture(t *testing.T) string {
	ok := func(context.Context, *sdk.SubscribeRequest) error { return nil }
	server := sdk.NewServer(&sdk.Implementation{Name: "fixture", Version: "1"}, &sdk.ServerOptions{
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   ok,
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	addContents(server)
	addTalks(server)
	addRounds(server)
	addFixtureResources(server)
	addPrompts(server)
	served := httptest.NewServer(mcp.NewHandler(server))
	t.Cleanup(func() {
		for session := range server.Sessions() {
			session.Close()
		}
		served.CloseClientConnections()
		served.Close()
	})
	return served.URL
}

// add adds a tool that takes anything.
func add(server *sdk.Server, name string, serve func(context.Context, *sdk.CallToolRequest) (*result, error)) {
	addOf(server, name, &jsonschema.Schema{Type: "object"}, serve)
}

func addOf(server *sdk.Server, name string, schema any, serve func(context.Context, *sdk.CallToolRequest) (*result, error)) {
	tool := &sdk.Tool{Name: name, Description: "For the suite.", InputSchema: schema}
	server.AddTool(tool, func(ctx context.Context, req *sdk.CallToolRequest) (*result, error) { return serve(ctx, req) })
}

func said(format string, args ...any) *result {
	return &result{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// addContents adds the tools that answer with one kind of content each.
func addContents(server *sdk.Server) {
	image := &sdk.ImageContent{Data: decoded(pixel), MIMEType: "image/png"}
	embedded := func(uri string) *sdk.EmbeddedResource {
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource"}}
	}
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":            {&sdk.TextContent{Text: "This is a simple text response for testing."}},
		"test_image_content":          {image},
		"test_audio_content":          {&sdk.AudioContent{Data: decoded(sound), MIMEType: "audio/wav"}},
		"test_embedded_resource":      {embedded("test://embedded-resource")},
		"test_multiple_content_types": {&sdk.TextContent{Text: "This is text content"}, image, embedded("test://embedded-in-multiple")},
		"test_streaming_elicitation":  {&sdk.TextContent{Text: "done"}},
	} {
		add(server, name, func(context.Context, *sdk.CallToolRequest) (*result, error) { return &result{Content: content}, nil })
	}
	add(server, "test_error_handling", func(context.Context, *sdk.CallToolRequest) (*result, error) {
		failed := said("this tool intentionally returns an error for testing")
		failed.IsError = true
		return failed, nil
	})
	addOf(server, "json_schema_2020_12_tool", json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {
			"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"}, "email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false}`),
		func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
			return said("called with %s", req.Params.Arguments), nil
		})
	addOf(server, "test_x_mcp_header", json.RawMessage(`{"type": "object", "properties": {
		"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`),
		func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
			return said("called with %s", req.Params.Arguments), nil
		})
}

// addTalks adds the tools that tell or ask the client something before they answer.
func addTalks(server *sdk.Server) {
	logs := func(count int) func(context.Context, *sdk.CallToolRequest) (*result, error) {
		return func(ctx context.Context, req *sdk.CallToolRequest) (*result, error) {
			for i := range count {
				//nolint:staticcheck // the suite asks for it as long as it is in a revision
				if err := req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: fmt.Sprintf("Tool step %d", i)}); err != nil {
					return nil, err
				}
				time.Sleep(50 * time.Millisecond)
			}
			return said("Tool with logging executed successfully"), nil
		}
	}
	add(server, "test_tool_with_logging", logs(3))
	add(server, "test_logging_tool", logs(1))
	add(server, "test_tool_with_progress", func(ctx context.Context, req *sdk.CallToolRequest) (*result, error) {
		token := req.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100, Message: fmt.Sprintf("Completed step %v of 100", done)})
			if err != nil {
				return nil, err
			}
			time.Sleep(50 * time.Millisecond)
		}
		return said("%v", token), nil
	})
	add(server, "test_sampling", func(ctx context.Context, req *sdk.CallToolRequest) (*result, error) {
		var in struct{ Prompt string }
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		//nolint:staticcheck // the suite asks for it as long as it is in a revision
		answer, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{
			Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: in.Prompt}}}, MaxTokens: 100,
		})
		if err != nil {
			return nil, err
		}
		text, is := answer.Content.(*sdk.TextContent)
		if !is {
			return nil, errors.New("the client answers with no text")
		}
		return said("LLM response: %s", text.Text), nil
	})
	for name, schema := range elicitations() {
		add(server, name, func(ctx context.Context, req *sdk.CallToolRequest) (*result, error) {
			answer, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Please answer", RequestedSchema: json.RawMessage(schema)})
			if err != nil {
				return nil, err
			}
			return said("Elicitation result: action=%s, content=%v", answer.Action, answer.Content), nil
		})
	}
	add(server, "test_reconnection", func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		time.Sleep(100 * time.Millisecond)
		return said("Reconnection test completed successfully"), nil
	})
	addMutations(server)
}

// elicitations are the questions of tools to the person at the client, by the name of the tool.
func elicitations() map[string]string {
	return map[string]string{
		"test_elicitation": `{"type": "object", "properties": {"username": {"type": "string"}}, "required": ["username"]}`,
		"test_elicitation_sep1034_defaults": `{"type": "object", "properties": {
			"name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5},
			"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}, "verified": {"type": "boolean", "default": true}}}`,
		"test_elicitation_sep1330_enums": `{"type": "object", "properties": {
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
			"untitledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"anyOf": [{"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}}}`,
	}
}

// addMutations adds the tools that change the tools and prompts of the server, and the one that needs an ability of the client.
func addMutations(server *sdk.Server) {
	add(server, "test_missing_capability", func(_ context.Context, req *sdk.CallToolRequest) (*result, error) {
		if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return said("the client has the ability"), nil
		}
		data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "the client has no sampling", Data: data}
	})
	add(server, "test_trigger_tool_change", func(context.Context, *sdk.CallToolRequest) (*result, error) {
		add(server, "transient_tool", func(context.Context, *sdk.CallToolRequest) (*result, error) { return said("here"), nil })
		return said("changed"), nil
	})
	add(server, "test_trigger_prompt_change", func(context.Context, *sdk.CallToolRequest) (*result, error) {
		server.AddPrompt(&sdk.Prompt{Name: "transient_prompt", Description: "Comes later."}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{}, nil
		})
		return said("changed"), nil
	})
}

func addFixtureResources(server *sdk.Server) {
	serve := func(contents sdk.ResourceContents) sdk.ResourceHandler {
		return func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			contents.URI = req.Params.URI
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&contents}}, nil
		}
	}
	text := sdk.ResourceContents{MIMEType: "text/plain", Text: "This is the content of the static text resource."}
	server.AddResource(&sdk.Resource{Name: "static-text", MIMEType: "text/plain", URI: "test://static-text"}, serve(text))
	server.AddResource(&sdk.Resource{Name: "watched-resource", MIMEType: "text/plain", URI: "test://watched-resource"}, serve(text))
	server.AddResource(&sdk.Resource{Name: "static-binary", MIMEType: "image/png", URI: "test://static-binary"},
		serve(sdk.ResourceContents{MIMEType: "image/png", Blob: decoded(pixel)}))
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", MIMEType: "application/json", URITemplate: "test://template/{id}/data"},
		func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			var id string
			if _, err := fmt.Sscanf(req.Params.URI, "test://template/%3s/data", &id); err != nil {
				return nil, sdk.ResourceNotFoundError(req.Params.URI)
			}
			return serve(sdk.ResourceContents{MIMEType: "application/json", Text: fmt.Sprintf(`{"id": %q, "templateTest": true}`, id)})(ctx, req)
		})
}

func addPrompts(server *sdk.Server) {
	type messages = []*sdk.PromptMessage
	text := func(format string, args ...any) *sdk.PromptMessage {
		return &sdk.PromptMessage{Role: "user", Content: &sdk.TextContent{Text: fmt.Sprintf(format, args...)}}
	}
	addPrompt := func(name string, arguments []string, messages func(map[string]string) messages) {
		prompt := &sdk.Prompt{Name: name, Description: "For the suite."}
		for _, argument := range arguments {
			prompt.Arguments = append(prompt.Arguments, &sdk.PromptArgument{Name: argument, Description: "An argument.", Required: true})
		}
		server.AddPrompt(prompt, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: messages(req.Params.Arguments)}, nil
		})
	}
	addPrompt("test_simple_prompt", nil, func(map[string]string) messages { return messages{text("This is a simple prompt for testing.")} })
	addPrompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) messages {
		return messages{text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}
	})
	addPrompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) messages {
		embedded := &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "Embedded."}}
		return messages{{Role: "user", Content: embedded}, text("Please process the embedded resource above.")}
	})
	addPrompt("test_prompt_with_image", nil, func(map[string]string) messages {
		return messages{{Role: "user", Content: &sdk.ImageContent{Data: decoded(pixel), MIMEType: "image/png"}}, text("Please analyze the image above.")}
	})
}
