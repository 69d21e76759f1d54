package accounts_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// operation is one operation of the OpenAPI document.
type operation struct {
	method, path, id string
	scopes           []access.Scope // of which it needs one; empty for an open one
}

// operations reads the document of the server.
func (w *world) operations() (list []operation) {
	w.t.Helper()
	_, text := w.do("", "GET", "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string                      `json:"operationId"`
			Security    []map[string][]access.Scope `json:"security"`
		} `json:"paths"`
	}
	must(w.t, json.Unmarshal([]byte(text), &document))
	for path, methods := range document.Paths {
		for method, op := range methods {
			var scopes []access.Scope
			for _, either := range op.Security {
				scopes = append(scopes, either["apiKey"]...)
			}
			list = append(list, operation{strings.ToUpper(method), path, op.OperationID, scopes})
		}
	}
	return list
}

// example fills in the names of a path.
func (op operation) example() string {
	return strings.NewReplacer(
		"{id}", "ses_a", "{execution_id}", "exe_a", "{pid}", "1", "{name}", "x", "{path}", "x", "{template}", "x", "{node}", "x", "{tenant}", "x",
	).Replace(op.path)
}

// TestEveryOperationNeedsItsScope asks for each operation of the document without a key, with a wrong key, with all scopes but its
// own, and with its own.
func TestEveryOperationNeedsItsScope(t *testing.T) {
	w := newWorld(t)
	open := []string{"health", "ready", "version"}
	operations := w.operations()
	if len(operations) < 50 {
		t.Fatalf("the document has %d operations", len(operations))
	}
	keys := map[string]string{}
	keyWith := func(scopes ...access.Scope) string {
		name := ""
		for _, scope := range scopes {
			name += " " + string(scope)
		}
		if keys[name] == "" {
			_, keys[name] = w.key("default", scopes...)
		}
		return keys[name]
	}
	for _, op := range operations {
		path := op.example()
		if slices.Contains(open, op.id) {
			if status, answer := w.do("", op.method, path, ""); status != http.StatusOK || len(op.scopes) > 0 {
				t.Errorf("%s without a key: %d %s, scopes %v", op.id, status, answer, op.scopes)
			}
			continue
		}
		if len(op.scopes) == 0 {
			t.Errorf("%s needs no scope", op.id)
			continue
		}
		if status, code := w.do("", op.method, path, "{}"); status != http.StatusUnauthorized || code != "unauthenticated" {
			t.Errorf("%s without a key: %d %s, want 401", op.id, status, code)
		}
		others := slices.DeleteFunc(access.Scopes(), func(s access.Scope) bool { return s == access.Admin || slices.Contains(op.scopes, s) })
		if status, code := w.do(keyWith(others...), op.method, path, "{}"); status != http.StatusForbidden || code != "forbidden" {
			t.Errorf("%s without its scope: %d %s, want 403", op.id, status, code)
		}
		for _, scope := range op.scopes {
			if status, code := w.do(keyWith(scope), op.method, path, "{}"); status == http.StatusForbidden || status == http.StatusUnauthorized {
				t.Errorf("%s with the scope %s: %d %s", op.id, scope, status, code)
			}
		}
	}
	if status, code := w.do(access.GenerateKey().Reveal(), "GET", "/api/v1/sessions", ""); status != http.StatusUnauthorized || code != "unauthenticated" {
		t.Errorf("a wrong key: %d %s, want 401", status, code)
	}
}

// TestRequestOfARevokedKey: a request that waits for its execution when its key is revoked ends with the reason.
func TestRequestOfARevokedKey(t *testing.T) {
	w := newWorld(t)
	key, secret := w.key("default", access.SessionsExecute, access.SessionsWrite)
	client := w.client(secret)
	session, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic"})
	must(t, err)
	revoking := time.AfterFunc(500*time.Millisecond, func() { w.revoke(key.ID) })
	defer revoking.Stop()
	defer w.node.Release()
	_, err = client.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "block"}})
	if yurt.CodeOf(err) != yurt.CodeUnauthenticated || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("the request has the error %v, expected that its key was revoked", err)
	}
}

// TestPolicyHasNoStrangers: each row of the policy is an operation, a page, a tool or a route that the server has.
func TestPolicyHasNoStrangers(t *testing.T) {
	w := newWorld(t)
	there := map[string]bool{"/metrics": true, "/mcp": true, "mcp:file": true, "mcp:output": true}
	for _, op := range w.operations() {
		there[op.id] = true
	}
	_, admin := w.key("default", access.Admin)
	tools, err := w.agent(admin).ListTools(t.Context(), nil)
	must(t, err)
	for _, tool := range tools.Tools {
		there["mcp:"+tool.Name] = true
		if _, known := auth.NewPolicy()["mcp:"+tool.Name]; !known {
			t.Errorf("the tool %s has no row in the policy", tool.Name)
		}
	}
	for row := range auth.NewPolicy() {
		if !there[row] && !strings.HasPrefix(row, "/workspace/se/") {
			t.Errorf("the policy has a row for %s, which is no operation", row)
		}
	}
}

// TestOtherDoors: the metrics, the older API and MCP ask for keys too, and pages about the API do not.
func TestOtherDoors(t *testing.T) {
	w := newWorld(t)
	_, files := w.key("acme", access.Files)
	_, nodes := w.key("default", access.Nodes)
	tests := []struct {
		key, method, path string
		want              int
	}{
		{"", "GET", "/docs", 200},
		{"", "GET", "/openapi.json", 200},
		{"", "GET", "/workspace/se/healthy", 200},
		{"", "GET", "/workspace/se/status/a", 404},
		{"", "GET", "/workspace/se/session/a", 405},
		{"", "GET", "/metrics", 401},
		{files, "GET", "/metrics", 403},
		{nodes, "GET", "/metrics", 200},
		{"", "POST", "/workspace/se/session/a", 401},
		{files, "POST", "/workspace/se/session/a", 403},
		{"", "POST", "/workspace/se/execute_code/a", 401},
		{files, "POST", "/workspace/se/execute/a", 403},
		{"", "GET", "/workspace/se/download/a/b/c", 401},
		{"", "POST", "/mcp", 401},
	}
	for _, tt := range tests {
		if status, answer := w.do(tt.key, tt.method, tt.path, "{}"); status != tt.want {
			t.Errorf("%s %s with %q: %d %.200s, want %d", tt.method, tt.path, tt.key, status, answer, tt.want)
		}
	}
}

func TestKeyLife(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, admin := w.key("acme", access.Admin)
	expires := yurt.Duration(time.Hour)
	made, secret, err := w.client(admin).Keys().Create(ctx, yurtclient.CreateKeyRequest{Name: "ci", Scopes: []access.Scope{access.SessionsRead}, ExpiresIn: &expires})
	must(t, err)
	if made.Tenant != "acme" || made.Name != "ci" || made.ExpiresAt == nil || !strings.HasPrefix(secret.Reveal(), "yurt_") {
		t.Errorf("the key is %+v", made)
	}
	mine := w.client(secret.Reveal())
	if _, err := mine.Sessions(ctx, yurtclient.SessionFilter{}); err != nil {
		t.Error("with the key:", err)
	}
	if _, err := mine.Keys().List(ctx, ""); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("keys are listed without the scope admin: %v", err)
	}
	list, err := w.client(admin).Keys().List(ctx, "")
	must(t, err)
	if len(list) != 2 || list[0].ID != made.ID {
		t.Errorf("the list is %+v", list)
	}
	status, page := w.do(admin, "GET", "/api/v1/keys?limit=1", "")
	if status != http.StatusOK || strings.Contains(page, "yurt_") || !strings.Contains(page, `"next_cursor":"`) {
		t.Errorf("the first page: %d %s", status, page)
	}
	revoked, err := w.client(admin).Keys().Revoke(ctx, made.ID)
	must(t, err)
	if revoked.RevokedAt == nil {
		t.Errorf("the revoked key is %+v", revoked)
	}
	w.refused(secret.Reveal())
	if strings.Contains(w.logs.String(), secret.Reveal()[5:]) || strings.Contains(w.logs.String(), admin[5:]) {
		t.Error("the log has a key")
	}
}

// refused waits for a revoked key to be refused.
func (w *world) refused(key string) {
	w.t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if status, _ := w.do(key, "GET", "/api/v1/sessions", ""); status == http.StatusUnauthorized {
			return
		}
	}
	w.t.Error("the key is taken 5 s after its revocation")
}

// TestRevocationEndsStreams revokes a key that has an event stream, a WebSocket, a terminal and a call of a tool open.
func TestRevocationEndsStreams(t *testing.T) {
	w := newWorld(t)
	record, key := w.key("default", access.SessionsRead, access.SessionsWrite, access.SessionsExecute)
	client := w.client(key)
	session, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic"})
	must(t, err)
	blocked, err := client.Start(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "x block exit 3"}})
	must(t, err)
	events := "/api/v1/sessions/" + session.ID + "/executions/" + blocked.ID + "/events"
	ended := make(chan string)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() { ended <- "stream: " + w.streamUntilEnd(ctx, key, events) }()
	go func() { ended <- "socket: " + w.socketUntilEnd(ctx, key, events) }()
	go func() {
		ended <- "terminal: " + w.socketUntilEnd(ctx, key, "/api/v1/sessions/"+session.ID+"/pty?command=x+block")
	}()
	agent := w.agent(key)
	go func() {
		_, err := agent.CallTool(ctx, &sdk.CallToolParams{Name: "run_command", Arguments: map[string]any{"sandbox_id": session.ID, "command": "x block"}})
		ended <- "tool: " + errorText(err)
	}()
	time.Sleep(500 * time.Millisecond) // until all are open
	w.revoke(record.ID)
	deadline := time.After(5 * time.Second)
	for range 4 {
		select {
		case how := <-ended:
			t.Log(how)
			if strings.Contains(how, "early") {
				t.Error(how)
			}
		case <-deadline:
			t.Fatal("a stream goes on 5 s after the key was revoked")
		}
	}
	w.node.Release()
	after, err := w.ctl.WaitExecution(access.Systemwide(t.Context()), session.ID, blocked.ID)
	if err != nil || after.Result.ExitCode != 3 {
		t.Errorf("the execution ended with %+v, error %v; want it to go on without its watchers", after.Result, err)
	}
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// streamUntilEnd reads server-sent events until the server ends them, and returns the last line.
func (w *world) streamUntilEnd(ctx context.Context, key, path string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+path, nil)
	if err != nil {
		return "early: " + err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := w.Client().Do(req)
	if err != nil {
		return "early: " + err.Error()
	}
	defer resp.Body.Close()
	begin := time.Now()
	data, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || err != nil || time.Since(begin) < 300*time.Millisecond {
		return "early: " + resp.Status + errorText(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-2):], " ")
}

// socketUntilEnd reads a WebSocket until the server closes it, and returns with which status.
func (w *world) socketUntilEnd(ctx context.Context, key, path string) string {
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(w.URL, "http")+path, &websocket.DialOptions{
		HTTPClient: w.Client(), HTTPHeader: http.Header{"Authorization": {"Bearer " + key}},
	})
	if err != nil {
		return "early: " + err.Error()
	}
	if resp.Body != nil {
		defer resp.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	begin := time.Now()
	for {
		if _, _, err = conn.Read(ctx); err != nil {
			break
		}
	}
	if websocket.CloseStatus(err) != websocket.StatusPolicyViolation || time.Since(begin) < 300*time.Millisecond {
		return "early: " + err.Error()
	}
	return err.Error()
}

// TestAgentsNeedScopes: a call of a tool needs the scope of the tool, and a connection is its key's alone.
func TestAgentsNeedScopes(t *testing.T) {
	w := newWorld(t)
	_, reading := w.key("default", access.SessionsRead)
	_, running := w.key("default", access.SessionsExecute)
	call := func(agent *sdk.ClientSession, tool string, arguments map[string]any) string {
		result, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return err.Error()
		}
		if !result.IsError {
			return ""
		}
		return result.Content[0].(*sdk.TextContent).Text
	}
	reader, runner := w.agent(reading), w.agent(running)
	if got := call(reader, "list_sandboxes", map[string]any{}); got != "" {
		t.Errorf("list_sandboxes with its scope: %s", got)
	}
	if got := call(reader, "create_sandbox", map[string]any{}); !strings.Contains(got, "sessions:write") {
		t.Errorf("create_sandbox without its scope: %q", got)
	}
	if got := call(runner, "run_code", map[string]any{"code": "x"}); !strings.Contains(got, "sessions:write") {
		t.Errorf("run_code that makes a sandbox, without that scope: %q", got)
	}
	if _, err := reader.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "yurt://session/ses_a/x"}); err == nil || !strings.Contains(err.Error(), "files") {
		t.Errorf("a file without its scope: %v", err)
	}
	if id := reader.ID(); id != "" {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`))
		must(t, err)
		for name, value := range map[string]string{
			"Authorization": "Bearer " + running, "Mcp-Session-Id": id, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		} {
			req.Header.Set(name, value)
		}
		resp, err := w.Client().Do(req)
		must(t, err)
		defer resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("a connection of another key answers %s", resp.Status)
		}
	}
}
