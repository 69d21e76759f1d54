package accounts_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/oidc"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestTokensOfAnIssuer uses the doors with tokens of an issuer: REST, MCP and a WebSocket, which ends with its token.
func TestTokensOfAnIssuer(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	provider := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: "RS256"}}}
	login := httptest.NewServer(provider)
	t.Cleanup(login.Close)
	provider.SetIssuer(login.URL)
	issuer, err := oidc.New(oidc.Config{
		Issuer: login.URL, Audience: "yurt", Mapping: oidc.Mapping{TenantClaim: "tenant", ScopeClaim: "scope"},
	})
	must(t, err)
	run(t, issuer.Run)
	w := newWorldOf(t, issuer)
	token := func(tenant, subject, scope string, life time.Duration) string {
		claims, err := json.Marshal(map[string]any{
			"iss": login.URL, "aud": "yurt", "sub": subject, "exp": time.Now().Add(life).Unix(), "tenant": tenant, "scope": scope,
		})
		must(t, err)
		return oidctest.SignIDToken(key, "k", "RS256", string(claims))
	}
	const scopes = "sessions:read sessions:write sessions:execute files"
	acme := token("acme-1", "alice", scopes, time.Hour)
	status, answer := w.do(acme, "POST", "/api/v1/sessions", `{"template_id":"python-basic"}`)
	if status != http.StatusCreated {
		t.Fatalf("a token creates a session: %d %s", status, answer)
	}
	var session struct{ ID, Tenant string }
	must(t, json.Unmarshal([]byte(answer), &session))
	_, operator := w.key("default", access.Admin)
	if e := w.entryFor(operator, "create-session", access.Allowed); e.Subject != "alice" || e.Tenant != "acme-1" || e.KeyID != "" {
		t.Errorf("the entry is %+v, want it to name the subject", e)
	}
	for subject, want := range map[string]bool{"alice": true, "bob": false} {
		found, err := yurtclient.Audit(t.Context(), w.client(operator), yurtclient.AuditFilter{Subject: subject, Action: "create-session"})
		if err != nil || (len(found) > 0) != want || want && found[0].Subject != subject {
			t.Errorf("the subject %s has the entries %+v, error %v; want some: %v", subject, found, err, want)
		}
	}
	if status, answer := w.do(token("rival", "bob", scopes, time.Hour), "GET", "/api/v1/sessions/"+session.ID, ""); status != http.StatusNotFound {
		t.Errorf("a token of another tenant: %d %s, want 404", status, answer)
	}
	if status, answer := w.do(acme, "GET", "/api/v1/keys", ""); status != http.StatusForbidden {
		t.Errorf("an operation without its scope: %d %s, want 403", status, answer)
	}
	if status, answer := w.do(token("acme-1", "alice", scopes, -time.Minute), "GET", "/api/v1/sessions", ""); status != http.StatusUnauthorized || answer != "unauthenticated" {
		t.Errorf("an expired token: %d %s, want 401", status, answer)
	}
	if tools, err := w.agent(acme).ListTools(t.Context(), nil); err != nil || len(tools.Tools) == 0 {
		t.Errorf("MCP with a token: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Second)
	defer stop()
	end := w.socketUntilEnd(ctx, token("acme-1", "alice", scopes, 3*time.Second), "/api/v1/sessions/"+session.ID+"/pty?command=x+block")
	if !strings.Contains(end, "expired") {
		t.Errorf("the terminal of a token that expires ended with %q", end)
	}
}
