package accounts_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// token makes a token for a session with a key.
func (w *world) token(key, session string, scopes ...access.Scope) string {
	w.t.Helper()
	made, secret, err := w.client(key).Keys().CreateToken(w.t.Context(), session, yurtclient.CreateTokenRequest{Scopes: scopes})
	must(w.t, err)
	if made.SessionID != session || made.ExpiresAt == nil || !strings.HasPrefix(secret.Reveal(), access.TokenPrefix) {
		w.t.Errorf("the token is %+v", made)
	}
	return secret.Reveal()
}

func (w *world) session(key string) string {
	w.t.Helper()
	session, err := w.client(key).CreateSession(w.t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic"})
	must(w.t, err)
	return session.ID
}

// TestTokenReachesOneSession calls each operation of the document with a token for one session of a tenant and with the names of
// another session of the same tenant.
func TestTokenReachesOneSession(t *testing.T) {
	w := newWorld(t)
	first, key := w.fill("acme")
	mine := w.session(key)
	token := w.token(key, mine, access.TokenScopes()...)
	client := w.client(token)
	if _, err := client.Session(t.Context(), mine); err != nil {
		t.Error("its own session:", err)
	}
	ended, err := client.Execute(t.Context(), mine, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "x echo hi"}})
	if err != nil || !strings.Contains(ended.Result.Stdout, "hi") {
		t.Errorf("code in its own session: %+v, %v", ended.Result, err)
	}
	bodies := w.bodies()
	for _, op := range w.operations() {
		if len(op.scopes) == 0 || op.id == "open-terminal" {
			continue
		}
		path := first.path(op)
		if op.id == "watch-files" || op.id == "archive-files" {
			path += "?path=."
		}
		status, answer := w.raw(token, op.method, path, bodies[op.id])
		want := http.StatusForbidden
		if strings.Contains(op.path, "/sessions/{id}") && op.id != "create-token" {
			want = http.StatusNotFound
		}
		if status != want {
			t.Errorf("%s %s: %d %.200s, want %d", op.id, path, status, answer, want)
		}
		if strings.Contains(answer, "secret-of-acme") || strings.Contains(answer, "agent-acme") {
			t.Errorf("%s answers with another session's data: %.200s", op.id, answer)
		}
	}
	agent := w.agent(token)
	for tool, arguments := range map[string]map[string]any{
		"run_command": {"sandbox_id": first.session, "command": "x"}, "create_sandbox": {}, "list_sandboxes": {}, "run_code": {"code": "x"},
	} {
		result, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		must(t, err)
		if !result.IsError {
			t.Errorf("the tool %s answers %+v", tool, result.Content[0])
		}
	}
	result, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_command", Arguments: map[string]any{"sandbox_id": mine, "command": "x echo hi"}})
	must(t, err)
	if result.IsError {
		t.Errorf("the tool in its own session: %+v", result.Content[0].(*sdk.TextContent).Text)
	}
}

// TestTokenHasScopesOfItsMaker: a token has no scope that its maker lacks, and lacks those that it was not given.
func TestTokenHasScopesOfItsMaker(t *testing.T) {
	w := newWorld(t)
	_, admin := w.key("acme", access.Admin)
	_, reading := w.key("acme", access.SessionsRead)
	_, rival := w.key("rival", access.Admin)
	session := w.session(admin)
	path := "/api/v1/sessions/" + session + "/tokens"
	tests := []struct {
		key, body string
		want      int
	}{
		{reading, `{"scopes":["sessions:read"]}`, 201},
		{reading, `{"scopes":["sessions:execute"]}`, 403},
		{admin, `{"scopes":["admin"]}`, 403},
		{admin, `{"scopes":[]}`, 400},
		{admin, `{"scopes":["files"],"expires_in":"25h"}`, 400},
		{admin, `{"scopes":["files"],"expires_in":"24h"}`, 201},
		{rival, `{"scopes":["files"]}`, 404},
		{"", `{"scopes":["files"]}`, 401},
	}
	for _, tt := range tests {
		if status, answer := w.do(tt.key, "POST", path, tt.body); status != tt.want {
			t.Errorf("%s: %d %.200s, want %d", tt.body, status, answer, tt.want)
		}
	}
	token := w.token(admin, session, access.SessionsRead)
	if status, _ := w.do(token, "POST", "/api/v1/sessions/"+session+"/execute", `{"command":"x"}`); status != http.StatusForbidden {
		t.Errorf("a token that reads runs code: %d", status)
	}
	if status, _ := w.do(token, "POST", path, `{"scopes":["sessions:read"]}`); status != http.StatusForbidden {
		t.Errorf("a token makes a token: %d", status)
	}
	list, err := w.client(admin).Keys().List(t.Context(), "")
	must(t, err)
	for _, key := range list {
		if key.SessionID != "" {
			t.Errorf("the list of keys has the token %+v", key)
		}
	}
}

// TestTokenEnds: a token ends with its session, with the key that made it, and when it expires.
func TestTokenEnds(t *testing.T) {
	w := newWorld(t)
	record, key := w.key("acme", access.Admin)
	_, other := w.key("acme", access.Admin)
	session, second := w.session(key), w.session(key)
	ofSession, ofKey := w.token(other, session, access.SessionsRead), w.token(key, second, access.SessionsRead)
	expires := yurt.Duration(time.Second)
	_, brief, err := w.client(other).Keys().CreateToken(t.Context(), second, yurtclient.CreateTokenRequest{Scopes: []access.Scope{access.SessionsRead}, ExpiresIn: &expires})
	must(t, err)
	for name, token := range map[string]string{"of the session": ofSession, "of the key": ofKey, "brief": brief.Reveal()} {
		if status, _ := w.do(token, "GET", "/api/v1/sessions/"+second, ""); status == http.StatusUnauthorized {
			t.Errorf("the token %s is refused at first", name)
		}
	}
	_, err = w.client(other).EndSession(t.Context(), session)
	must(t, err)
	w.revoke(record.ID)
	w.refused(ofSession)
	w.refused(ofKey)
	w.refused(brief.Reveal())
	if _, err := w.client(other).Session(t.Context(), second); err != nil {
		t.Error("the other key:", err)
	}
}

// TestTokenOfAPage opens a terminal as a page of another origin does: with the token as a subprotocol.
func TestTokenOfAPage(t *testing.T) {
	w := newWorld(t)
	_, key := w.key("acme", access.Admin)
	session, other := w.session(key), w.session(key)
	token := w.token(key, session, access.SessionsExecute)
	dial := func(id, secret, origin string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(w.URL, "http")+"/api/v1/sessions/"+id+"/pty?command=x+block", &websocket.DialOptions{
			HTTPClient: w.Client(), HTTPHeader: http.Header{"Origin": {origin}}, Subprotocols: []string{"yurt", "yurt.token." + secret},
		})
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.CloseNow() }()
		return conn.Subprotocol(), nil
	}
	if protocol, err := dial(session, token, "https://app.example.com"); err != nil || protocol != "yurt" {
		t.Errorf("with the token: subprotocol %q, error %v", protocol, err)
	}
	if _, err := dial(other, token, "https://app.example.com"); err == nil {
		t.Error("the token opens another session")
	}
	if _, err := dial(session, key, "https://app.example.com"); err == nil {
		t.Error("an API key is taken from a page")
	}
	if strings.Contains(w.logs.String(), token) {
		t.Error("the log has the token")
	}
}
