package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// Call calls the tool of that name with the arguments that a model gave, a JSON object, and returns the text for the model.
// That code failed is no error: the text says so.
func Call(ctx context.Context, box *yurtclient.Sandbox, name string, arguments json.RawMessage) (string, error) {
	given, err := check(name, arguments)
	if err != nil {
		return "", err
	}
	switch name {
	case "run_code":
		return told(box.RunCode(ctx, cmp.Or(given["language"], "python"), given["code"]))
	case "run_command":
		return told(box.RunCommand(ctx, given["command"]))
	case "write_file":
		info, err := box.Files.Write(ctx, given["path"], []byte(given["text"]))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d bytes written", info.Size), nil
	case "read_file":
		return box.Files.ReadText(ctx, given["path"])
	default: // list_files
		var paths []string
		for file, err := range box.Files.List(ctx, given["path"], 1) {
			if err != nil {
				return "", err
			}
			paths = append(paths, file.Path)
		}
		return strings.Join(paths, "\n"), nil
	}
}

// check refuses calls that a model made up, and returns the arguments.
func check(name string, arguments json.RawMessage) (map[string]string, error) {
	all := JSONSchema()
	i := slices.IndexFunc(all, func(each Tool) bool { return each.Name == name })
	if i < 0 {
		var names []string
		for _, each := range all {
			names = append(names, each.Name)
		}
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "name", "%q is no tool; the tools are %s", name, strings.Join(names, ", "))
	}
	var members map[string]any
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &members); err != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "arguments", "they are no JSON object: %w", err)
		}
	}
	parameters := all[i].Parameters
	allowed := strings.Join(slices.Sorted(maps.Keys(parameters.Properties)), ", ")
	for _, required := range parameters.Required {
		if _, is := members[required]; !is {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, required, "%s needs %s; its arguments are %s", name, required, allowed)
		}
	}
	given := make(map[string]string, len(members))
	for _, member := range slices.Sorted(maps.Keys(members)) {
		text, isText := members[member].(string)
		switch _, known := parameters.Properties[member]; {
		case !known:
			return nil, yurt.FieldErrorf(yurt.CodeUnknownField, member, "%s has no argument %q; it has %s", name, member, allowed)
		case !isText:
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, member, "it is %v, of another type; give a string", members[member])
		}
		given[member] = text
	}
	return given, nil
}

// told returns all of a result that a model can read.
func told(result *yurt.Result, err error) (string, error) {
	if err != nil {
		return "", err
	}
	parts := []string{result.Stdout, result.Stderr, yurtclient.Text(result)}
	switch failure := result.Error; {
	case failure == nil && result.ExitCode != 0:
		parts = append(parts, fmt.Sprintf("exit code %d", result.ExitCode))
	case failure != nil && !strings.Contains(result.Stderr, failure.Message):
		parts = append(parts, failure.Type+": "+failure.Message)
	}
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, strings.TrimRight(part, "\n"))
		}
	}
	return strings.Join(kept, "\n"), nil
}
