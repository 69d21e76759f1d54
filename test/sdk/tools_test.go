package sdk

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/sdk/go/tools"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestToolsAreTheSame holds the definitions of tools in the three SDKs against each other, in each form that all have.
func TestToolsAreTheSame(t *testing.T) {
	t.Parallel()
	project := installedTypescript(t)
	for form, all := range map[string]struct {
		python, typescript string
		golang             any
	}{
		"JSON schema": {"json_schema", "jsonSchema", tools.JSONSchema()},
		"OpenAI":      {"openai", "openai", tools.OpenAI()},
		"Anthropic":   {"anthropic", "anthropic", tools.Anthropic()},
	} {
		data, err := json.Marshal(all.golang)
		if err != nil {
			t.Fatal(err)
		}
		want := decoded(t, string(data))
		cmd := exec.CommandContext(t.Context(), pythonTools(t), "-c", "import json\nfrom yurt import tools\nprint(json.dumps(tools."+all.python+"()))")
		cmd.Dir = python(t) + "/src"
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, decoded(t, string(out))); diff != "" {
			t.Errorf("%s, of Go and Python (-Go +Python):\n%s", form, diff)
		}
		script := `const { tools } = require("@yurt/sandbox"); console.log(JSON.stringify(tools.` + all.typescript + `()))`
		if diff := cmp.Diff(want, decoded(t, run(t, project, node(t), "-e", script))); diff != "" {
			t.Errorf("%s, of Go and TypeScript (-Go +TypeScript):\n%s", form, diff)
		}
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return value
}

func TestGoTools(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	client, err := yurtclient.New(url)
	if err != nil {
		t.Fatal(err)
	}
	box, err := client.Create(t.Context(), yurtclient.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []struct{ name, arguments, want string }{
		{"run_code", `{"code": "x = 6\nx * 7"}`, "42"},
		{"run_code", `{"code": "x + 1", "language": "python"}`, "7"},
		{"run_command", `{"command": "echo out; echo err >&2; exit 3"}`, "out\nerr\nexit code 3"},
		{"write_file", `{"path": "a.txt", "text": "hej"}`, "3 bytes written"},
		{"read_file", `{"path": "a.txt"}`, "hej"},
		{"list_files", ``, "a.txt"},
	} {
		if got, err := tools.Call(t.Context(), box, call.name, json.RawMessage(call.arguments)); err != nil || got != call.want {
			t.Errorf("%s %s says %q (%v), expected %q", call.name, call.arguments, got, err, call.want)
		}
	}
	if got, err := tools.Call(t.Context(), box, "run_code", json.RawMessage(`{"code": "1 / 0"}`)); err != nil || !strings.Contains(got, "ZeroDivisionError") {
		t.Errorf("code that fails says %q (%v), expected its error", got, err)
	}
	for _, bad := range []struct {
		name, arguments, field string
		code                   yurt.Code
	}{
		{"nope", `{}`, "name", yurt.CodeInvalidArgument},
		{"run_code", `{}`, "code", yurt.CodeInvalidArgument},
		{"run_code", `{"code": 5}`, "code", yurt.CodeInvalidArgument},
		{"run_code", `{"code": "1", "cod": "1"}`, "cod", yurt.CodeUnknownField},
		{"run_code", `["1"]`, "arguments", yurt.CodeInvalidArgument},
		{"run_code", `{"code": "1`, "arguments", yurt.CodeInvalidArgument},
		{"read_file", `{"path": "absent"}`, "path", yurt.CodeFileNotFound},
	} {
		got, err := tools.Call(t.Context(), box, bad.name, json.RawMessage(bad.arguments))
		if coded := (*yurt.Error)(nil); !errors.As(err, &coded) || coded.Code != bad.code || coded.Field != bad.field {
			t.Errorf("%s %s gives %q and %v, expected %s of %q", bad.name, bad.arguments, got, err, bad.code, bad.field)
		}
	}
	if _, err := box.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}
