package oidc

import (
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// The claims that are read unless the configuration names others.
const (
	DefaultTenantClaim = "tenant"
	DefaultScopeClaim  = "scope"
)

// maxValues bounds the values of a claim that are looked at.
const maxValues = 1000

// Mapping says how the claims of a token become a tenant and scopes. A claim is named by its name, or by a path such as
// /realm_access/roles when it is inside of another.
type Mapping struct {
	TenantClaim string
	Tenants     map[string]string // of values of the claim; empty: a value is the tenant's name
	ScopeClaim  string
	Scopes      map[string][]access.Scope // likewise; values that are no scope are left out
}

// ParseTenants reads lines such as GROUP=TENANT.
func ParseTenants(field string, lines []string) (map[string]string, error) {
	tenants := map[string]string{}
	for _, line := range lines {
		value, tenant, err := cutLine(field, line, "acme.example=acme")
		if err != nil {
			return nil, err
		}
		if err := access.CheckTenant(field, tenant); err != nil {
			return nil, err
		}
		if former, there := tenants[value]; there && former != tenant {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q is given the tenants %s and %s; keep one of them", value, former, tenant)
		}
		tenants[value] = tenant
	}
	return tenants, nil
}

// ParseScopes reads lines such as ROLE=SCOPE. A role may have several lines.
func ParseScopes(field string, lines []string) (map[string][]access.Scope, error) {
	scopes := map[string][]access.Scope{}
	for _, line := range lines {
		value, scope, err := cutLine(field, line, "developers=sessions:write")
		if err != nil {
			return nil, err
		}
		if err := access.CheckScopes(field, []access.Scope{access.Scope(scope)}); err != nil {
			return nil, err
		}
		scopes[value] = append(scopes[value], access.Scope(scope))
	}
	return scopes, nil
}

// cutLine cuts a line at its last sign, since values may have some.
func cutLine(field, line, example string) (value, meaning string, err error) {
	at := strings.LastIndexByte(line, '=')
	if at <= 0 || at == len(line)-1 {
		return "", "", yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "%q does not say what a value of the claim means; give VALUE=MEANING such as %s", line, example)
	}
	return line[:at], line[at+1:], nil
}

// tenant returns the one tenant that the claims name.
func (m Mapping) tenant(claims map[string]any) (string, error) {
	var named []string
	for _, value := range values(claims, m.TenantClaim) {
		name, mapped := m.Tenants[value]
		if len(m.Tenants) == 0 {
			name, mapped = value, true
		}
		if mapped && !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	if len(named) != 1 {
		return "", yurt.Errorf(yurt.CodeUnauthenticated, "the token's claim %s names %d tenants of this server; ask for a token that names one", m.TenantClaim, len(named))
	}
	if len(m.Tenants) > 0 {
		return named[0], nil
	}
	if named[0] == access.DefaultTenant {
		return "", yurt.Errorf(yurt.CodeUnauthenticated,
			"the token's claim %s names the operator's tenant, which this server gives only to values that its setting oidc_tenants has", m.TenantClaim)
	}
	if access.CheckTenant("", named[0]) != nil {
		return "", yurt.Errorf(yurt.CodeUnauthenticated, "the token's claim %s is no name of a tenant: those have lower-case letters, digits and hyphens", m.TenantClaim)
	}
	return named[0], nil
}

// scopes returns the scopes that the claims name.
func (m Mapping) scopes(claims map[string]any) []access.Scope {
	var scopes []access.Scope
	for _, value := range values(claims, m.ScopeClaim) {
		for word := range strings.FieldsSeq(value) { // as OAuth writes scopes
			if len(m.Scopes) == 0 && slices.Contains(access.Scopes(), access.Scope(word)) {
				scopes = append(scopes, access.Scope(word))
			}
			scopes = append(scopes, m.Scopes[word]...)
		}
		if strings.ContainsAny(value, " \t") {
			scopes = append(scopes, m.Scopes[value]...)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(scopes)))
}

// values returns the texts of a claim, which is a text or a list of texts.
func values(claims map[string]any, name string) []string {
	var found any = claims
	for _, step := range path(name) {
		inside, _ := found.(map[string]any)
		found = inside[step]
	}
	switch found := found.(type) {
	case string:
		return []string{found}
	case []any:
		var texts []string
		for _, value := range found[:min(len(found), maxValues)] {
			if text, ok := value.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	default:
		return nil
	}
}

func path(name string) []string {
	if inside, ok := strings.CutPrefix(name, "/"); ok {
		return strings.Split(inside, "/")
	}
	return []string{name}
}
