// Package tools describes sandboxes to agents: definitions of tools in the form of each framework, and [Call], which performs a
// model's call of one. The SDKs of Python and TypeScript have the same tools.
package tools

// Tool is a tool as JSON schema describes it.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  Schema `json:"parameters"`
}

// Schema is the JSON schema of a tool's arguments.
type Schema struct {
	Type                 string              `json:"type"`
	Properties           map[string]Property `json:"properties"`
	Required             []string            `json:"required"`
	AdditionalProperties bool                `json:"additionalProperties"`
}

// Property is an argument.
type Property struct {
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
}

// OpenAITool is a tool as OpenAI's chat completions take it.
type OpenAITool struct {
	Type     string `json:"type"`
	Function Tool   `json:"function"`
}

// AnthropicTool is a tool as Anthropic's messages take it.
type AnthropicTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema Schema `json:"input_schema"`
}

func tool(name, description string, properties map[string]Property, required ...string) Tool {
	return Tool{name, description, Schema{Type: "object", Properties: properties, Required: append([]string{}, required...)}}
}

// JSONSchema returns the tools.
func JSONSchema() []Tool {
	text, path := Property{Type: "string"}, Property{"string", "Relative to /workspace."}
	language := Property{"string", "python unless given, such as javascript or r."}
	return []Tool{
		tool("run_code", "Run code in a sandbox. Variables and imports last from one call to the next.", map[string]Property{"code": text, "language": language}, "code"),
		tool("run_command", "Run a line for the shell in the sandbox.", map[string]Property{"command": text}, "command"),
		tool("write_file", "Write a file of text in the sandbox.", map[string]Property{"path": path, "text": text}, "path", "text"),
		tool("read_file", "Read a file of text in the sandbox.", map[string]Property{"path": path}, "path"),
		tool("list_files", "List a directory of the sandbox.", map[string]Property{"path": path}),
	}
}

// OpenAI returns the tools for OpenAI's chat completions.
func OpenAI() []OpenAITool {
	var list []OpenAITool
	for _, each := range JSONSchema() {
		list = append(list, OpenAITool{Type: "function", Function: each})
	}
	return list
}

// Anthropic returns the tools for Anthropic's messages.
func Anthropic() []AnthropicTool {
	var list []AnthropicTool
	for _, each := range JSONSchema() {
		list = append(list, AnthropicTool{Name: each.Name, Description: each.Description, InputSchema: each.Parameters})
	}
	return list
}
