package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

type object = map[string]any

// agent is a conversation with a server.
type agent struct {
	*sdk.ClientSession
	t *testing.T
}

// converse begins a conversation in a revision of MCP.
func converse(t *testing.T, transport sdk.Transport, revision string) agent {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	return agent{session, t}
}

// call returns the text and the values of a tool's answer, and whether it is an error.
func (a agent) call(tool string, arguments any) (text string, values object, failed bool) {
	a.t.Helper()
	answer, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	for _, content := range answer.Content {
		if part, is := content.(*sdk.TextContent); is {
			text += part.Text
		}
	}
	values, _ = answer.StructuredContent.(object)
	return text, values, answer.IsError
}

// does calls a tool that has to succeed.
func (a agent) does(tool string, arguments object) object {
	a.t.Helper()
	text, values, failed := a.call(tool, arguments)
	if failed {
		a.t.Fatalf("%s %v: %s", tool, arguments, text)
	}
	return values
}

// TestBadInput: input of the wrong kind is a clear error of the tool, and changes no more in the sandbox than it says.
func TestBadInput(t *testing.T) {
	t.Parallel()
	url, client := testutil.Serve(t, yurt(t))
	a := converse(t, &sdk.StreamableClientTransport{Endpoint: url + "/mcp"}, "")
	defer a.Close()
	id, _ := a.does("create_sandbox", object{})["sandbox_id"].(string)
	a.does("upload_file", object{"sandbox_id": id, "path": "binary", "data_base64": base64.StdEncoding.EncodeToString([]byte{0xff, 0, 0xfe})})
	for name, test := range map[string]struct {
		tool      string
		arguments any
		words     []string
	}{
		"a number in place of text":        {"run_code", object{"code": 7, "sandbox_id": id}, []string{"invalid_argument: code", "must be a string"}},
		"a list in place of an object":     {"run_code", object{"code": "x", "env": []string{"a"}, "sandbox_id": id}, []string{"env", "must be an object"}},
		"text in place of a number":        {"read_file", object{"sandbox_id": id, "path": "binary", "offset": "1"}, []string{"invalid_argument: offset", "number"}},
		"a list in place of all arguments": {"run_code", []string{"code"}, []string{"object"}},
		"an unknown sandbox":               {"run_command", object{"sandbox_id": "ses_unknown", "command": "true"}, []string{"session_not_found", "ses_unknown"}},
		"an unknown template":              {"create_sandbox", object{"template_id": "pyton-basic"}, []string{"template_not_found: template_id", `did you mean "python-basic"?`}},
		"bytes that are read as text":      {"read_file", object{"sandbox_id": id, "path": "binary"}, []string{"invalid_argument: path", "not text", "download_file"}},
		"bytes that are written as text":   {"write_file", object{"sandbox_id": id, "path": "b", "text": object{"base64": "/wA="}}, []string{"invalid_argument: text", "must be a string"}},
		"base64 that is none":              {"upload_file", object{"sandbox_id": id, "path": "b", "data_base64": "a b"}, []string{"invalid_argument: data_base64", "base64"}},
		"a line break in a path":           {"write_file", object{"sandbox_id": id, "path": "a\nb", "text": "x"}, []string{"invalid_path: path", "line break", "printable"}},
		"a path out of the workspace":      {"read_file", object{"sandbox_id": id, "path": "../etc/passwd"}, []string{"path_outside_workspace: path", "/workspace"}},
		"half of a character":              {"run_code", json.RawMessage(`{"sandbox_id": "` + id + `", "code": "\ud800"}`), []string{"invalid_argument: code", "no character"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, _, failed := a.call(test.tool, test.arguments)
			if !failed {
				t.Fatalf("the answer is %q, expected an error", text)
			}
			for _, word := range test.words {
				if !strings.Contains(text, word) {
					t.Errorf("the error is %q, expected %q in it", text, word)
				}
			}
		})
	}
	files := a.does("list_files", object{"sandbox_id": id})["files"].([]any)
	if len(files) != 1 {
		t.Errorf("the workspace holds %v, expected the one file that was written well", files)
	}
	if value := a.does("run_code", object{"sandbox_id": id, "code": "6 * 7"})["result"]; value != 42. {
		t.Errorf("code after all that has the value %v, expected 42", value)
	}
	a.does("terminate_sandbox", object{"sandbox_id": id})
	nothingLives(t, client)
}

// TestOddResults: values that JSON has not, and names and output that are no plain text, come in the form that the page says.
func TestOddResults(t *testing.T) {
	t.Parallel()
	url, client := testutil.Serve(t, yurt(t))
	a := converse(t, &sdk.StreamableClientTransport{Endpoint: url + "/mcp"}, "")
	defer a.Close()
	made := a.does("run_code", object{"code": "float('nan')"})
	id, _ := made["sandbox_id"].(string)
	if made["text"] != "nan" || made["result"] != nil || made["error"] != nil {
		t.Errorf("NaN as the value of code is %v, expected its text and no value of JSON", made)
	}
	handled := a.does("invoke_handler", object{"sandbox_id": id, "code": "def handler(event, context):\n    return {'share': float('nan')}"})
	if failure, _ := handled["error"].(object); failure["type"] != "ResultNotSerializable" {
		t.Errorf("NaN as the return value of a handler is %v, expected the error ResultNotSerializable", handled)
	}
	bytes := a.does("run_code", object{"sandbox_id": id, "code": `import os; _ = os.write(1, b"a\xff\x00b\n")`})
	if out, _ := bytes["stdout"].(string); out != "a\ufffd\x00b\n" {
		t.Errorf("output that is not UTF-8 is %q, expected the mark of a character that cannot be shown", out)
	}
	a.does("run_command", object{"sandbox_id": id, "command": `mkdir odd; printf x > "odd/$(printf 'new\nline')"`})
	listed, _ := a.does("list_files", object{"sandbox_id": id, "path": "odd"})["files"].([]any)
	if len(listed) != 1 || listed[0].(object)["path"] != "odd/new\nline" {
		t.Errorf("a file whose name has a line break is listed as %v", listed)
	}
	a.does("terminate_sandbox", object{"sandbox_id": id})
	nothingLives(t, client)
}

// sleeps is code that says when it runs, and then sleeps for long.
const sleeps = "import pathlib, subprocess, time\npathlib.Path('runs').write_text('x')\nsubprocess.run(['sleep', '997'])"

// awaitRun waits until the code sleeps runs in a sandbox of the server, and returns the sandbox.
func awaitRun(t *testing.T, client *yurtclient.Client) *yurtclient.Sandbox {
	t.Helper()
	var box *yurtclient.Sandbox
	testutil.Eventually(t, "the code runs", func() bool {
		for session, err := range client.List(t.Context(), yurtclient.SessionFilter{}) {
			if err != nil || session.State.Ended() {
				continue
			}
			if box, err = client.Connect(t.Context(), session.ID); err == nil && running(t, box) == 1 {
				return true
			}
		}
		return false
	})
	return box
}

// running counts the processes sleep of a sandbox.
func running(t *testing.T, box *yurtclient.Sandbox) int {
	t.Helper()
	found, err := box.Processes(context.WithoutCancel(t.Context()))
	if err != nil {
		return 0 // it has ended
	}
	count := 0
	for i := range found {
		if found[i].Name == "sleep" {
			count++
		}
	}
	return count
}
