package accounts_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// entries returns the entries that a key sees, newest first, once there is one for which wanted holds.
func (w *world) entries(key string, wanted func(access.Entry) bool) []access.Entry {
	w.t.Helper()
	var list []access.Entry
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		list, err = yurtclient.Audit(w.t.Context(), w.client(key), yurtclient.AuditFilter{})
		must(w.t, err)
		if slices.ContainsFunc(list, wanted) {
			return list
		}
	}
	w.t.Fatalf("the entry is not in the audit log: %+v", list)
	return nil
}

// entryFor returns the newest entry of an action with a decision.
func (w *world) entryFor(key, action string, decision access.Decision) access.Entry {
	w.t.Helper()
	is := func(e access.Entry) bool { return e.Action == action && e.Decision == decision }
	list := w.entries(key, is)
	return list[slices.IndexFunc(list, is)]
}

// TestAuditHasChangesAndRefusals makes changes and tries what may not be, by each door.
func TestAuditHasChangesAndRefusals(t *testing.T) {
	w := newWorld(t)
	_, operator := w.key("default", access.Admin)
	record, acme := w.key("acme", access.Admin)
	reader, reading := w.key("acme", access.SessionsRead)
	session, err := w.client(acme).CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic"})
	must(t, err)
	made := w.entryFor(acme, "create-session", access.Allowed)
	if made.SessionID != session.ID || made.Tenant != "acme" || made.KeyID != record.ID || made.Address != "127.0.0.1" || made.Status != http.StatusCreated || made.RequestID == "" || made.Count != 1 {
		t.Errorf("the entry of a create is %+v", made)
	}
	if status, _ := w.do(reading, "POST", "/api/v1/sessions/"+session.ID+"/execute", "{}"); status != http.StatusForbidden {
		t.Error("a key without the scope runs code:", status)
	}
	if e := w.entryFor(acme, "execute", access.Denied); e.KeyID != reader.ID || e.SessionID != session.ID || !strings.Contains(e.Detail, "sessions:execute") {
		t.Errorf("the entry of a refusal is %+v", e)
	}
	w.do(acme, "DELETE", "/api/v1/templates/missing", "")
	if e := w.entryFor(acme, "delete-template", access.Failed); e.Status != http.StatusNotFound || e.Target != "/api/v1/templates/missing" {
		t.Errorf("the entry of a change that failed is %+v", e)
	}
	w.do(access.GenerateKey().Reveal(), "GET", "/api/v1/sessions", "")
	if e := w.entryFor(operator, "authenticate", access.Denied); e.Tenant != "" || e.Address != "127.0.0.1" {
		t.Errorf("the entry of a wrong key is %+v", e)
	}
	agent := w.agent(acme)
	_, err = agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_command", Arguments: map[string]any{"sandbox_id": session.ID, "command": "x echo hi"}})
	must(t, err)
	if e := w.entryFor(acme, "mcp:run_command", access.Allowed); e.SessionID != session.ID || e.KeyID != record.ID || e.Address == "" || e.RequestID == "" {
		t.Errorf("the entry of a tool is %+v", e)
	}
	_, err = w.agent(reading).CallTool(t.Context(), &sdk.CallToolParams{Name: "run_command", Arguments: map[string]any{"command": "x"}})
	must(t, err)
	if e := w.entryFor(acme, "mcp:run_command", access.Denied); e.KeyID != reader.ID {
		t.Errorf("the entry of a refused tool is %+v", e)
	}
	w.do(acme, "POST", "/workspace/se/session/older", "{}")
	w.entryFor(acme, "POST /workspace/se/session/{id}", access.Allowed)
	_, err = w.client(acme).Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "x oom"}})
	must(t, err)
	if e := w.entryFor(acme, "out-of-memory", access.Event); e.SessionID != session.ID || e.Tenant != "acme" {
		t.Errorf("the entry of a kill is %+v", e)
	}
	_, err = w.client(acme).Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "x exit 159"}})
	must(t, err)
	w.entryFor(acme, "seccomp-kill", access.Event)
	w.client(acme).Session(t.Context(), session.ID)
	for _, e := range w.entries(acme, func(access.Entry) bool { return true }) {
		if e.Tenant != "acme" {
			t.Errorf("a tenant sees the entry %+v", e)
		}
		if e.Action == "get-session" || e.Action == "list-audit" {
			t.Errorf("a request that only reads has the entry %+v", e)
		}
	}
	w.sameInFile(operator)
}

// sameInFile compares the file of the audit log with its table.
func (w *world) sameInFile(operator string) {
	w.t.Helper()
	table := w.entries(operator, func(access.Entry) bool { return true })
	text, err := os.ReadFile(filepath.Join(w.dir, "audit.jsonl"))
	must(w.t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) < len(table) {
		w.t.Errorf("the file has %d lines, and the table %d entries", len(lines), len(table))
	}
	inFile := map[string]access.Entry{}
	for _, line := range lines {
		var e access.Entry
		must(w.t, json.Unmarshal([]byte(line), &e))
		inFile[e.ID] = e
	}
	for _, e := range table {
		if inFile[e.ID] != e {
			w.t.Errorf("the file has %+v, the table %+v", inFile[e.ID], e)
		}
	}
}

// TestAuditNamesARevokedKey: the entry of a refused key that was revoked has its id, for its tenant too, and the log of the server has the id.
func TestAuditNamesARevokedKey(t *testing.T) {
	w := newWorld(t)
	_, acme := w.key("acme", access.Admin)
	key, secret := w.key("acme", access.SessionsRead)
	_, err := w.client(acme).Keys().Revoke(t.Context(), key.ID)
	must(t, err)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		status, answer := w.do(secret, "GET", "/api/v1/sessions", "")
		if status == http.StatusUnauthorized {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the revoked key has the answer %d %s", status, answer)
		}
	}
	if e := w.entryFor(acme, "authenticate", access.Denied); e.KeyID != key.ID || e.Tenant != "acme" || !strings.Contains(e.Detail, "revoked") {
		t.Errorf("the entry of the revoked key is %+v", e)
	}
	if logs := w.logs.String(); !strings.Contains(logs, key.ID) || strings.Contains(logs, secret) {
		t.Errorf("the log has to have the id %s, and not the key: %s", key.ID, logs)
	}
}

// TestAuditIsATenants: a tenant reads its own entries, and needs the scope admin.
func TestAuditIsATenants(t *testing.T) {
	w := newWorld(t)
	_, acme := w.key("acme-1", access.Admin)
	_, rival := w.key("rival", access.Admin)
	_, reading := w.key("acme-1", access.SessionsRead)
	w.do(acme, "POST", "/api/v1/sessions", `{"template_id":"python-basic"}`)
	w.entryFor(acme, "create-session", access.Allowed)
	if status, answer := w.do(rival, "GET", "/api/v1/audit", ""); status != http.StatusOK || strings.Contains(answer, "acme-1") {
		t.Errorf("another tenant reads %d %s", status, answer)
	}
	if status, _ := w.do(rival, "GET", "/api/v1/audit?tenant=acme-1", ""); status != http.StatusForbidden {
		t.Errorf("another tenant asks for the entries by name: %d, want 403", status)
	}
	if status, _ := w.do(reading, "GET", "/api/v1/audit", ""); status != http.StatusForbidden {
		t.Errorf("a key without admin reads: %d, want 403", status)
	}
	if status, _ := w.do(acme, "GET", "/api/v1/audit?since=yesterday", ""); status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		t.Errorf("a time that is none: %d", status)
	}
}

// TestPlantedSecrets gives a server secrets of every kind, and looks for them in all that it shows and keeps.
func TestPlantedSecrets(t *testing.T) {
	w := newWorld(t)
	_, operator := w.key("default", access.Admin)
	const inEnv, inCode, inFile = "planted-env-6f1d", "planted-code-83aa", "planted-file-20cc"
	client := w.client(operator)
	session, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic", Env: map[string]string{"TOKEN": inEnv}})
	must(t, err)
	_, err = client.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "x loop " + inCode}, Env: map[string]string{"TOKEN": inEnv}})
	must(t, err)
	_, err = client.PutFile(t.Context(), session.ID, "x", strings.NewReader(inFile))
	must(t, err)
	_, made, err := client.Keys().Create(t.Context(), yurtclient.CreateKeyRequest{Scopes: []access.Scope{access.SessionsRead}})
	must(t, err)
	repeatable := w.createKeyTwice(operator)
	wrong := access.GenerateKey().Reveal()
	w.do(wrong, "GET", "/api/v1/sessions", "")
	w.do(operator+"x", "GET", "/api/v1/sessions", "")
	w.do(operator, "POST", "/api/v1/sessions", `{"env":{"TOKEN":"`+inEnv+`"},"template_id":"missing"}`)
	w.entryFor(operator, "authenticate", access.Denied)
	w.entryFor(operator, "create-session", access.Failed)
	var shown strings.Builder
	shown.WriteString(w.logs.String())
	for _, op := range w.operations() {
		if op.method != http.MethodGet || slices.Contains([]string{"get-file", "list-session-events", "watch-files", "archive-files"}, op.id) {
			continue // those that show a file are asked for it
		}
		path := strings.NewReplacer("{id}", session.ID, "{execution_id}", "exe_a", "{name}", "x", "{template}", "x").Replace(op.path)
		_, answer := w.raw(operator, op.method, path, "")
		shown.WriteString(answer)
	}
	_, err = client.EndSession(t.Context(), session.ID)
	must(t, err)
	if shrink, ok := w.sessions.(contract.ShrinkStore); ok {
		must(t, shrink.Shrink(t.Context()))
	}
	kept := w.keptBytes()
	for name, secret := range map[string]string{"the operator's key": operator, "a key that was made": made.Reveal(), "a key that was asked for twice": repeatable, "a wrong key": wrong} {
		for _, form := range []string{secret, strings.TrimPrefix(secret, access.KeyPrefix), base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(shown.String(), form) || strings.Contains(kept, form) {
				t.Errorf("%s is shown or kept", name)
			}
		}
	}
	for _, secret := range []string{inEnv, inCode, inFile} {
		if strings.Contains(shown.String(), secret) {
			t.Errorf("%s is shown", secret)
		}
		if strings.Contains(kept, secret) {
			t.Errorf("%s is kept after its session", secret)
		}
	}
	if !strings.Contains(kept, session.ID) || !strings.Contains(shown.String(), session.ID) {
		t.Error("the search does not even find the session")
	}
}

// createKeyTwice sends the request for a key twice, with an idempotency key, and returns the key. The second answer has no key.
func (w *world) createKeyTwice(operator string) string {
	w.t.Helper()
	ask := func() (status int, key string) {
		req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.URL+"/api/v1/keys", strings.NewReader(`{"scopes": ["files"]}`))
		must(w.t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "once")
		resp, err := (&http.Client{Transport: bearer{w.Client().Transport, operator}}).Do(req)
		must(w.t, err)
		defer resp.Body.Close()
		var made struct{ Key string }
		must(w.t, json.NewDecoder(resp.Body).Decode(&made))
		return resp.StatusCode, made.Key
	}
	first, key := ask()
	second, none := ask()
	if first != http.StatusCreated || key == "" || second != http.StatusConflict || none != "" {
		w.t.Errorf("the answers are %d and %d, and the second has %d bytes of a key", first, second, len(none))
	}
	return key
}

// keptBytes returns the bytes of all files of the server: the database, its log and the file of the audit log.
func (w *world) keptBytes() string {
	w.t.Helper()
	var all strings.Builder
	must(w.t, filepath.WalkDir(w.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	}))
	return all.String()
}
