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
	"github.com/yurtrun/yurt/controller/contract"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// belongings are the names of a tenant's records.
type belongings struct{ session, execution, blocked, sandbox, template, key string }

// fill gives a tenant one of each.
func (w *world) fill(tenant string) (belongings, string) {
	w.t.Helper()
	ctx := w.t.Context()
	record, key := w.key(tenant, access.Admin)
	client := w.client(key)
	template, err := client.CreateTemplate(ctx, []byte("mine"))
	must(w.t, err)
	session, err := client.CreateSession(ctx, yurtclient.CreateSessionRequest{
		TemplateID: "python-basic", AgentID: "agent-" + tenant, Metadata: map[string]string{"of": tenant}, IdempotencyKey: "same",
	})
	must(w.t, err)
	ended, err := client.Execute(ctx, session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "x echo secret-of-" + tenant}})
	must(w.t, err)
	blocked, err := client.Start(ctx, session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "x block"}})
	must(w.t, err)
	_, err = client.PutFile(ctx, session.ID, "x", strings.NewReader("file of "+tenant))
	must(w.t, err)
	stored, err := w.sessions.Session(ctx, session.ID)
	must(w.t, err)
	return belongings{session.ID, ended.ID, blocked.ID, stored.SandboxID, template.Name, record.ID}, key
}

// path fills in the names of a path with those of a tenant's records.
func (b belongings) path(op operation) string {
	id := b.session
	switch {
	case strings.Contains(op.path, "/containers/"):
		id = b.sandbox
	case strings.Contains(op.path, "/templates/"):
		id = b.template
	case strings.Contains(op.path, "/keys/"):
		id = b.key
	}
	return strings.NewReplacer(
		"{id}", id, "{execution_id}", b.blocked, "{pid}", "1", "{name}", "x", "{path}", "x", "{template}", b.template, "{node}", "x", "{tenant}", "acme-1",
	).Replace(op.path)
}

// bodies are the samples of the document, by operation.
func (w *world) bodies() map[string]string {
	_, text := w.do("", "GET", "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody struct {
				Content map[string]struct {
					Examples map[string]struct{ Value json.RawMessage }
				}
			} `json:"requestBody"`
		}
	}
	must(w.t, json.Unmarshal([]byte(text), &document))
	bodies := map[string]string{}
	for _, methods := range document.Paths {
		for _, op := range methods {
			for _, example := range op.RequestBody.Content["application/json"].Examples {
				bodies[op.OperationID] = string(example.Value)
			}
		}
	}
	return bodies
}

// TestSecondTenantSeesNothing calls each operation of the document as a second tenant with the names of the first: a record with a
// name in the path is not found, and no answer has a name of the first tenant.
func TestSecondTenantSeesNothing(t *testing.T) {
	w := newWorld(t)
	// No id can hold the name of the tenant by chance: their alphabet has no hyphen.
	first, firstKey := w.fill("acme-1")
	_, second := w.key("rival", access.Admin)
	bodies := w.bodies()
	// The first makes a template of the second tenant's; the other answers upgrades alone: see TestSecondTenantByOtherDoors.
	own := []string{"replace-template", "open-terminal"}
	for _, op := range w.operations() {
		if len(op.scopes) == 0 || slices.Contains(own, op.id) {
			continue
		}
		path := first.path(op)
		switch op.id {
		case "watch-files", "archive-files":
			path += "?path=."
		}
		status, answer := w.raw(second, op.method, path, bodies[op.id])
		operators := op.scopes[0] == access.Pools || op.scopes[0] == access.Nodes || op.id == "list-tenants" || op.id == "set-quotas"
		switch {
		case operators && status != http.StatusForbidden:
			t.Errorf("%s: %d %s, want 403: it is the operator's", op.id, status, answer)
		case !operators && strings.Contains(op.path, "{") && status != http.StatusNotFound:
			t.Errorf("%s %s: %d %.300s, want 404", op.id, path, status, answer)
		}
		for _, word := range []string{"secret-of-acme-1", "file of acme-1", "agent-acme-1"} {
			if strings.Contains(answer, word) {
				t.Errorf("%s answers with %q: %.300s", op.id, word, answer)
			}
		}
		if strings.Contains(op.path, "{") {
			continue
		}
		names := []string{first.session, first.execution, first.sandbox, first.key, "acme-1"}
		if op.id == "list-audit" { // which has the names that the second tenant itself asked for
			names = []string{`"tenant":"acme-1"`}
		}
		for _, name := range names {
			if strings.Contains(answer, name) {
				t.Errorf("%s answers with %s: %.300s", op.id, name, answer)
			}
		}
	}
	client := w.client(firstKey)
	session, err := client.Session(t.Context(), first.session)
	if err != nil || session.State.Ended() {
		t.Errorf("the first tenant's session is %+v, error %v", session, err)
	}
	if _, err := client.Template(t.Context(), first.template); err != nil {
		t.Error("the first tenant's template:", err)
	}
}

// answerLimit is how long an answer may take. A stream that another tenant is let into goes on: its status fails the test.
const answerLimit = 2 * time.Second

// raw makes a request and returns the status and the answer, or its part until the limit.
func (w *world) raw(key, method, path, body string) (int, string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), answerLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.URL+path, strings.NewReader(body))
	must(w.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := w.Client().Do(req)
	if ctx.Err() != nil {
		return 0, "no answer within " + answerLimit.String()
	}
	must(w.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if ctx.Err() == nil {
		must(w.t, err)
	}
	return resp.StatusCode, string(data)
}

// TestSecondTenantByOtherDoors tries WebSockets, MCP and the older API.
func TestSecondTenantByOtherDoors(t *testing.T) {
	w := newWorld(t)
	first, _ := w.fill("acme-1")
	_, second := w.key("rival", access.Admin)
	session := "/api/v1/sessions/" + first.session
	for _, path := range []string{session + "/executions/" + first.blocked + "/events", session + "/pty?command=x", session + "/pty?execution_id=" + first.blocked} {
		dialing, cancel := context.WithTimeout(t.Context(), answerLimit)
		conn, resp, err := websocket.Dial(dialing, "ws"+strings.TrimPrefix(w.URL, "http")+path, &websocket.DialOptions{
			HTTPClient: w.Client(), HTTPHeader: http.Header{"Authorization": {"Bearer " + second}},
		})
		if err == nil || resp == nil || resp.StatusCode != http.StatusNotFound {
			t.Errorf("a WebSocket to %s: %v, want 404", path, err)
		}
		cancel()
		if conn != nil {
			_ = conn.CloseNow()
		}
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
	}
	agent := w.agent(second)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tools, err := agent.ListTools(ctx, nil)
	must(t, err)
	arguments := map[string]any{
		"sandbox_id": first.session, "code": "x", "command": "x", "path": "x", "text": "x", "execution_id": first.execution, "data_base64": "eA==",
	}
	for _, tool := range tools.Tools {
		schema, err := json.Marshal(tool.InputSchema)
		must(t, err)
		var known struct{ Properties map[string]any }
		must(t, json.Unmarshal(schema, &known))
		given := map[string]any{}
		for name, value := range arguments {
			if known.Properties[name] != nil {
				given[name] = value
			}
		}
		result, err := agent.CallTool(ctx, &sdk.CallToolParams{Name: tool.Name, Arguments: given})
		must(t, err)
		text, err := json.Marshal(result)
		must(t, err)
		if given["sandbox_id"] != nil && !strings.Contains(string(text), "not_found") || strings.Contains(string(text), "acme-1") {
			t.Errorf("the tool %s answers %s", tool.Name, text)
		}
	}
	for _, uri := range []string{"yurt://session/" + first.session + "/x", "yurt://execution/" + first.session + "/" + first.execution + "/stdout"} {
		if result, err := agent.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("the resource %s is %+v", uri, result)
		}
	}
	if status, answer := w.raw(second, "GET", "/workspace/se/files/"+first.session, ""); strings.Contains(answer, "acme-1") || status == http.StatusOK && strings.Contains(answer, `"x"`) {
		t.Errorf("the older API: %d %s", status, answer)
	}
}

// TestTenantsHaveEqualNames: two tenants use the same idempotency key, agent and template name, and each has its own.
func TestTenantsHaveEqualNames(t *testing.T) {
	w := newWorld(t)
	first, firstKey := w.fill("acme-1")
	second, secondKey := w.fill("rival")
	_, operator := w.fill("default")
	if first.session == second.session || first.template != second.template {
		t.Errorf("the tenants have %+v and %+v", first, second)
	}
	must(t, w.client(firstKey).DeleteTemplate(t.Context(), first.template))
	for _, key := range []string{secondKey, operator} {
		if _, err := w.client(key).Template(t.Context(), second.template); err != nil {
			t.Errorf("another tenant's template went along: %v", err)
		}
	}
	if _, err := w.client(firstKey).Template(t.Context(), first.template); yurt.CodeOf(err) != yurt.CodeTemplateNotFound {
		t.Errorf("the deleted template: %v", err)
	}
	if _, err := w.client(secondKey).Template(t.Context(), "mime"); err == nil || !strings.Contains(err.Error(), `did you mean "mine"?`) {
		t.Errorf("a misspelt template: %v, expected the question whether the tenant's own was meant", err)
	}
	if _, err := w.client(firstKey).Template(t.Context(), "mime"); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("a template that other tenants have in a like name: %v, expected no word of theirs", err)
	}
	for _, name := range []string{"acme-1%2Fmine", "rival%2Fmine"} {
		if status, code := w.do(operator, "GET", "/api/v1/templates/"+name, ""); status != http.StatusNotFound {
			t.Errorf("the operator reads %s: %d %s", name, status, code)
		}
	}
	for _, key := range []string{firstKey, operator} {
		page, err := w.client(key).Sessions(t.Context(), yurtclient.SessionFilter{})
		if err != nil || len(page.Sessions) != 1 {
			t.Errorf("a tenant lists %d sessions, error %v, want its own", len(page.Sessions), err)
		}
	}
}

// TestNoCallerReachesNoRecord: a door that forgets to name its caller shows no data.
func TestNoCallerReachesNoRecord(t *testing.T) {
	w := newWorld(t)
	first, _ := w.fill("acme-1")
	if _, err := w.ctl.Session(t.Context(), first.session); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("a session without a caller: %v", err)
	}
	if _, err := w.ctl.Sessions(t.Context(), contract.SessionQuery{}); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("a list without a caller: %v", err)
	}
	if _, err := w.ctl.Templates(t.Context()); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("templates without a caller: %v", err)
	}
}
