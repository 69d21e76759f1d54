package oidc

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

func mappingOf(t testing.TB, tenants, scopes []string) Mapping {
	t.Helper()
	m := Mapping{TenantClaim: "/org/name", ScopeClaim: "groups"}
	var err error
	if m.Tenants, err = ParseTenants("tenants", tenants); err != nil {
		t.Fatal(err)
	}
	if m.Scopes, err = ParseScopes("scopes", scopes); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestClaimsAreMapped(t *testing.T) {
	m := mappingOf(t, []string{"https://a=b.example=acme", "ops=default"}, []string{"dev=files", "dev=sessions:read", "site admins=admin"})
	for text, want := range map[string]string{
		`{"org":{"name":"ops"},"groups":["dev","files","other"]}`:             "default [files sessions:read]",
		`{"org":{"name":"https://a=b.example"},"groups":"site admins"}`:       "acme [admin]",
		`{"org":{"name":["x","ops"]},"groups":["admin",7,null,{"dev":true}]}`: "default []",
	} {
		var claims map[string]any
		if err := json.Unmarshal([]byte(text), &claims); err != nil {
			t.Fatal(err)
		}
		tenant, err := m.tenant(claims)
		if got := fmt.Sprint(tenant, " ", m.scopes(claims)); err != nil || got != want {
			t.Errorf("%s gives %s, error %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{`{}`, `{"org":"ops"}`, `{"org":{"name":"acme"}}`, `{"org":{"name":["ops","https://a=b.example"]}}`, `{"org":{"name":{}}}`} {
		var claims map[string]any
		if err := json.Unmarshal([]byte(text), &claims); err != nil {
			t.Fatal(err)
		}
		if tenant, err := m.tenant(claims); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
			t.Errorf("%s gives the tenant %q, error %v, want it refused", text, tenant, err)
		}
	}
}

func TestLinesThatAreRefused(t *testing.T) {
	for _, line := range []string{"", "acme", "=acme", "acme=", "a=B c"} {
		if _, err := ParseTenants("tenants", []string{line}); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("the tenant %q: %v", line, err)
		}
		if _, err := ParseScopes("scopes", []string{line}); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("the scope %q: %v", line, err)
		}
	}
	if _, err := ParseTenants("tenants", []string{"a=b", "a=c"}); err == nil {
		t.Error("a value has two tenants")
	}
	for _, issuer := range []string{"", "login.example.com", "http://login.example.com", "ftp://x", "https://"} {
		if (Config{Issuer: issuer, Audience: "yurt", Mapping: Mapping{TenantClaim: "t", ScopeClaim: "s"}}).Check() == nil {
			t.Errorf("the issuer %q is taken", issuer)
		}
	}
}

// FuzzClaims: whatever an issuer signs, its token names a tenant of the list, and scopes that there are.
func FuzzClaims(f *testing.F) {
	f.Add(`{"org":{"name":["ops"]},"groups":["dev"]}`)
	f.Add(`{"org":{"name":"x"},"groups":"dev files"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var claims map[string]any
		if json.Unmarshal([]byte(text), &claims) != nil {
			return
		}
		m := mappingOf(t, []string{"ops=acme"}, []string{"dev=files"})
		if tenant, err := m.tenant(claims); err == nil && tenant != "acme" {
			t.Errorf("the tenant %q", tenant)
		}
		for _, scope := range m.scopes(claims) {
			if scope != access.Files {
				t.Errorf("the scope %q", scope)
			}
		}
		m.Tenants, m.Scopes = nil, nil
		if tenant, err := m.tenant(claims); err == nil && (tenant == access.DefaultTenant || access.CheckTenant("", tenant) != nil) {
			t.Errorf("the tenant %q", tenant)
		}
		for _, scope := range m.scopes(claims) {
			if !slices.Contains(access.Scopes(), scope) {
				t.Errorf("the scope %q", scope)
			}
		}
	})
}
