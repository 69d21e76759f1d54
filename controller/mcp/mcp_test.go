package mcp_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/mcp"
)

func TestToolsDescribeThemselves(t *testing.T) {
	session := newWorld(t).connect(t, "reader")
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		input, _ := tool.InputSchema.(map[string]any)
		output, _ := tool.OutputSchema.(map[string]any)
		if input["type"] != "object" || output["type"] != "object" || tool.Annotations == nil || tool.Description == "" || tool.Title == "" {
			t.Errorf("tool %s has input %v, output %v, annotations %v", tool.Name, input, output, tool.Annotations)
		}
		if text := fmt.Sprint(input, output); strings.Contains(text, "null") {
			t.Errorf("tool %s takes or gives null: %s", tool.Name, text)
		}
		reads := strings.HasPrefix(tool.Name, "list_") || slices.Contains([]string{"read_file", "download_file", "get_logs"}, tool.Name)
		if tool.Annotations.ReadOnlyHint != reads {
			t.Errorf("tool %s says that it only reads: %v, expected %v", tool.Name, tool.Annotations.ReadOnlyHint, reads)
		}
	}
	slices.Sort(names)
	want := mcp.ToolNames()
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("there are the tools %q, expected %q", names, want)
	}
}

func TestToolsAreConfigurable(t *testing.T) {
	session := newWorld(t, func(c *mcp.Config) { c.Tools = []string{"run_code", "list_sandboxes"} }).connect(t, "reader")
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 2 {
		t.Errorf("there are %d tools, expected the 2 of the configuration", len(list.Tools))
	}
	if result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "create_sandbox"}); err == nil {
		t.Errorf("a tool that is off answers %s", textOf(result))
	}
	w := newWorld(t)
	for _, bad := range []mcp.Config{{Tools: []string{"run_cod"}}, {Limits: mcp.Limits{Calls: -1}}, {Limits: mcp.Limits{Sandboxes: -1}}} {
		bad.Sessions, bad.Executions, bad.Files = w.ctl, w.ctl, w.ctl
		if _, err := mcp.New(bad); yurt.CodeOf(err) != yurt.CodeInvalidArgument && yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
			t.Errorf("the configuration %+v gives %v, expected an error about it", bad, err)
		}
	}
}

func TestRunCodeMakesSandbox(t *testing.T) {
	w := newWorld(t)
	session := w.connect(t, "agent")
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: object{"code": "echo hello"}})
	if err != nil {
		t.Fatal(err)
	}
	out, _ := result.StructuredContent.(map[string]any)
	id, _ := out["sandbox_id"].(string)
	if out["created"] != true || out["stdout"] != "hello\n" || !strings.Contains(textOf(result), id) {
		t.Fatalf("run_code answers %v and says %q", out, textOf(result))
	}
	again := call(t, session, "run_code", object{"code": "echo again", "sandbox_id": id})
	if again["sandbox_id"] != id || again["created"] != nil {
		t.Errorf("run_code in a sandbox that is there answers %v", again)
	}
	live, err := w.ctl.Sessions(t.Context(), contract.SessionQuery{Live: true})
	if err != nil || len(live) != 1 {
		t.Errorf("there are %d sessions (%v), expected 1", len(live), err)
	}
}

// A sandbox whose id no client learns must not stay.
func TestRunCodeThatFailsLeavesNoSandbox(t *testing.T) {
	w := newWorld(t)
	refused(t, w.connect(t, "agent"), "run_code", object{"code": "x", "language": "cobol"}, "language_not_supported")
	live, err := w.ctl.Sessions(t.Context(), contract.SessionQuery{Live: true})
	if err != nil || len(live) != 0 {
		t.Errorf("%d sessions are left (%v), expected none", len(live), err)
	}
}

func TestBadInput(t *testing.T) {
	session := newWorld(t).connect(t, "agent")
	id, _ := call(t, session, "create_sandbox", nil)["sandbox_id"].(string)
	tests := []struct {
		tool      string
		arguments any
		words     []string
	}{
		{"run_code", object{"code": 7}, []string{"invalid_argument: code", "must be a string"}},
		{"run_code", object{"code": nil}, []string{"code", "missing"}},
		{"run_code", object{"code": "x", "files": []string{"a"}}, []string{"files", "must be an object"}},
		{"run_code", object{"code": "x", "cod": 1}, []string{"unknown_field: cod", `did you mean "code"?`}},
		{"run_code", object{"code": "x", "sandbox_id": id, "template_id": "default"}, []string{"template_id", "leave out"}},
		{"run_code", object{"code": "x", "timeout": "soon"}, []string{"timeout"}},
		{"run_code", raw(`{"code": "x", "code": "y"}`), []string{"code", "twice"}},
		{"run_code", raw(`{"code": "\ud800"}`), []string{"invalid_argument: code", "no character"}},
		{"write_file", raw(`{"sandbox_id": "` + id + `", "path": "a", "text": "\ud800"}`), []string{"invalid_argument: text", "no character"}},
		{"run_command", object{"command": "echo"}, []string{"sandbox_id", "missing", "create_sandbox"}},
		{"run_command", object{"sandbox_id": id, "command": ""}, []string{"command", "empty"}},
		{"run_command", object{"sandbox_id": "ses_nothing", "command": "echo"}, []string{"session_not_found"}},
		{"invoke_handler", object{"sandbox_id": id, "code": "x", "context": []int{1}}, []string{"context", "must be an object"}},
		{"upload_file", object{"sandbox_id": id, "path": "a", "data_base64": "%"}, []string{"data_base64", "base64"}},
		{"write_file", object{"sandbox_id": id, "path": "a", "text": "", "mode": "9"}, []string{"mode", "octal"}},
		{"read_file", object{"sandbox_id": id, "path": "a", "offset": -1}, []string{"offset", "0 or more"}},
		{"read_file", object{"sandbox_id": id, "path": "a", "limit": 0}, []string{"limit_out_of_range: limit", "1 to"}},
		{"list_sandboxes", object{"limit": 501}, []string{"limit", "1 to 500"}},
	}
	for _, tt := range tests {
		refused(t, session, tt.tool, tt.arguments, tt.words...)
	}
}

// A value that is refused may be a secret.
func TestRefusedValuesAreNotRepeated(t *testing.T) {
	session := newWorld(t).connect(t, "agent")
	for _, arguments := range []object{{"code": object{"secret": "hunter2"}}, {"code": "x", "env": []string{"hunter2"}}, {"code": "x", "timeout": "hunter2"}} {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: arguments})
		if err != nil || !result.IsError || strings.Contains(textOf(result), "hunter2") {
			t.Errorf("%v is answered %q (%v), expected an error without the value", arguments, textOf(result), err)
		}
	}
}

func TestLargeOutputIsResource(t *testing.T) {
	session := newWorld(t).connect(t, "agent")
	text := strings.Repeat("ü", mcp.MaxInline)
	out := call(t, session, "run_code", object{"code": text})
	links, _ := out["resources"].([]any)
	if len(links) != 1 {
		t.Fatalf("there are the resources %v, expected one", links)
	}
	link, _ := links[0].(map[string]any)
	uri, _ := link["uri"].(string)
	read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	if got := read.Contents[0].Text; got != text {
		t.Errorf("the resource has %d bytes, expected the %d that were written", len(got), len(text))
	}
	for _, bad := range []string{"yurt://execution/ses_a/exe_b/stdout", strings.Replace(uri, "stdout", "nothing", 1), "yurt://session/ses_a/file", "yurt://nothing/a/b"} {
		if _, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: bad}); err == nil {
			t.Errorf("%s can be read, expected an error", bad)
		}
	}
}

// TestImagesAreImages: a client that gets other bytes as an image loses the conversation.
func TestImagesAreImages(t *testing.T) {
	session := newWorld(t).connect(t, "agent")
	id, _ := call(t, session, "create_sandbox", nil)["sandbox_id"].(string)
	const png = "\x89PNG\r\n\x1a\n and more"
	for name, test := range map[string]struct{ data, mimeType string }{
		"a.png": {png, "image/png"}, "b.jpg": {png, "image/png"}, "c.png": {"junk", ""}, "d.png": {"", ""}, "e.gif": {"<svg/>", ""},
	} {
		arguments := object{"sandbox_id": id, "path": name, "data_base64": base64.StdEncoding.EncodeToString([]byte(test.data))}
		call(t, session, "upload_file", arguments)
		delete(arguments, "data_base64")
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "download_file", Arguments: arguments})
		if err != nil || result.IsError || len(result.Content) != 1 {
			t.Fatalf("%s: %+v (%v)", name, result, err)
		}
		image, is := result.Content[0].(*sdk.ImageContent)
		if is != (test.mimeType != "") || (is && (image.MIMEType != test.mimeType || string(image.Data) != test.data)) {
			t.Errorf("%s comes as %+v, expected an image of type %q, or none for none", name, result.Content[0], test.mimeType)
		}
		if out, _ := result.StructuredContent.(map[string]any); !is && out["data_base64"] != nil && out["data_base64"] != base64.StdEncoding.EncodeToString([]byte(test.data)) {
			t.Errorf("%s comes as %v, expected its bytes", name, out)
		}
	}
}

// TestWritersAreNotIdempotent: a client may send a call that is idempotent again, and an append would be there twice.
func TestWritersAreNotIdempotent(t *testing.T) {
	tools, err := newWorld(t).connect(t, "agent").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if hints := tool.Annotations; hints.IdempotentHint != hints.ReadOnlyHint {
			t.Errorf("%s is idempotent: %v, and only reads: %v; expected that both are the same", tool.Name, hints.IdempotentHint, hints.ReadOnlyHint)
		}
	}
}

func TestAbridged(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("ü", mcp.MaxInline), strings.Repeat("x", mcp.MaxInline), "\xff" + strings.Repeat("€", mcp.MaxInline)} {
		got := mcp.Abridged(text)
		if !utf8.ValidString(got) || len(got) > mcp.MaxInline+100 || (len(text) <= mcp.MaxInline && got != text) {
			t.Errorf("a text of %d bytes becomes one of %d, valid %v", len(text), len(got), utf8.ValidString(got))
		}
	}
}

func TestCloseEndsCallsAndNotExecutions(t *testing.T) {
	w := newWorld(t)
	session := w.connect(t, "agent")
	id, _ := call(t, session, "create_sandbox", nil)["sandbox_id"].(string)
	ended := make(chan string, 1)
	go func() {
		result, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "run_code", Arguments: object{"sandbox_id": id, "code": "block echo done"}})
		if err != nil {
			ended <- err.Error()
			return
		}
		ended <- textOf(result)
	}()
	waitRunning(t, w, id)
	w.Close()
	select {
	case said := <-ended:
		if !strings.Contains(said, "shutting down") {
			t.Errorf("the call ends with %q, expected that the server shuts down", said)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on after the server closed")
	}
	if state := stateOf(t, w, id); state != yurt.SessionRunning {
		t.Errorf("the session is %s, expected that what it runs goes on", state)
	}
}

func waitRunning(t *testing.T, w *world, id string) {
	t.Helper()
	for range 500 {
		if stateOf(t, w, id) == yurt.SessionRunning {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nothing runs in the session")
}

func stateOf(t *testing.T, w *world, id string) yurt.SessionState {
	t.Helper()
	session, err := w.ctl.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return session.State
}
