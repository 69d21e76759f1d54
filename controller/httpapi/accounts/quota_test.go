package accounts_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestQuotasAtTheDoors: an operator sets a quota, and its tenant is refused by REST and MCP with the quota's name.
func TestQuotasAtTheDoors(t *testing.T) {
	w := newWorld(t)
	_, operator := w.key("default", access.Admin)
	_, acme := w.key("acme", access.Admin)
	tenants := yurtclient.NewTenants(w.client(operator))
	two := 2
	memory := yurt.Size(64 << 30)
	set, err := tenants.SetQuotas(t.Context(), "acme", access.Quotas{Sessions: &two, Memory: &memory})
	must(t, err)
	if set.Tenant != "acme" || *set.Quotas.Sessions != 2 || *set.Quotas.Memory != memory || set.Quotas.CPU != nil {
		t.Errorf("the quotas are %+v", set)
	}
	for range two {
		_, err := w.client(acme).CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic"})
		must(t, err)
	}
	_, err = w.client(acme).CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic"})
	var refused *yurt.Error
	if !errors.As(err, &refused) || refused.Code != yurt.CodeQuotaExceeded || refused.Quota == nil || *refused.Quota != (yurt.QuotaUse{Name: "sessions", Used: 2, Limit: 2}) {
		t.Errorf("beyond the quota: %v with %+v", err, refused)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/api/v1/sessions", strings.NewReader(`{"template_id":"python-basic"}`))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+acme)
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.Client().Do(req)
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the answer is %s with Retry-After %q", resp.Status, resp.Header.Get("Retry-After"))
	}
	result, err := w.agent(acme).CallTool(t.Context(), &sdk.CallToolParams{Name: "create_sandbox", Arguments: map[string]any{}})
	must(t, err)
	if text := result.Content[0].(*sdk.TextContent).Text; !result.IsError || !strings.Contains(text, "quota_exceeded") {
		t.Errorf("the tool answers %q", text)
	}
	for _, action := range []string{"create-session", "mcp:create_sandbox"} {
		if e := w.entryFor(acme, action, access.Denied); e.Detail != "quota sessions" {
			t.Errorf("the entry of the refusal is %+v", e)
		}
	}
	usage, err := yurtclient.NewTenants(w.client(acme)).Usage(t.Context(), "")
	if err != nil || usage.Usage.Sessions != 2 || usage.Usage.CreatesPerMinute != 2 || usage.Tenant != "acme" {
		t.Errorf("the tenant's use is %+v, error %v", usage, err)
	}
	list, err := tenants.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Tenant != "acme" || list[1].Tenant != "default" {
		t.Errorf("the tenants are %+v, error %v", list, err)
	}
}

// TestQuotasAreTheOperators: a tenant neither sets quotas nor sees another tenant's use.
func TestQuotasAreTheOperators(t *testing.T) {
	w := newWorld(t)
	_, acme := w.key("acme", access.Admin)
	_, operator := w.key("default", access.Admin)
	tests := []struct {
		key, method, path, body string
		want                    int
	}{
		{acme, "PUT", "/api/v1/tenants/acme", `{"sessions":100}`, 403},
		{acme, "GET", "/api/v1/tenants", "", 403},
		{acme, "GET", "/api/v1/usage?tenant=default", "", 403},
		{acme, "GET", "/api/v1/usage", "", 200},
		{operator, "PUT", "/api/v1/tenants/No%20Name", `{}`, 400},
		{operator, "PUT", "/api/v1/tenants/acme", `{"sessions":-1}`, 400},
		{operator, "PUT", "/api/v1/tenants/acme", `{"memory":"lots"}`, 400},
		{operator, "PUT", "/api/v1/tenants/acme", `{"sesions":1}`, 400},
		{operator, "PUT", "/api/v1/tenants/acme", `{"memory":"8Gi","sessions":0}`, 200},
		{acme, "POST", "/api/v1/sessions", `{}`, 429},
	}
	for _, tt := range tests {
		if status, answer := w.do(tt.key, tt.method, tt.path, tt.body); status != tt.want {
			t.Errorf("%s %s %s: %d %.200s, want %d", tt.method, tt.path, tt.body, status, answer, tt.want)
		}
	}
}
