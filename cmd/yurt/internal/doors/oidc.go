package doors

import (
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/oidc"
)

// oidcFlags say whose tokens of OpenID Connect the server takes.
type oidcFlags struct {
	issuer, audience        string
	tenantClaim, scopeClaim string
	tenants, scopes         []string
}

func (f *oidcFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.issuer, "oidc-issuer", "", "the URL of an issuer of OpenID Connect whose tokens the server takes beside API keys, such as https://login.example.com/realms/acme; requests need a key or a token then (default: API keys alone)")
	flags.StringVar(&f.audience, "oidc-audience", "", "with --oidc-issuer: the audience that a token must have, such as yurt")
	flags.StringVar(&f.tenantClaim, "oidc-tenant-claim", oidc.DefaultTenantClaim, "the claim that names the tenant; one inside of another by its path, such as /org/name")
	flags.StringSliceVar(&f.tenants, "oidc-tenants", nil, "the tenants of values of that claim, such as acme.example=acme; others are refused (default: a value is the tenant's name, except for the operator's tenant default)")
	flags.StringVar(&f.scopeClaim, "oidc-scope-claim", oidc.DefaultScopeClaim, "the claim with scopes, or with groups or roles, likewise, such as /realm_access/roles")
	flags.StringSliceVar(&f.scopes, "oidc-scopes", nil, "the scopes of values of that claim, such as developers=sessions:write; a value may have several, and others mean no scope (default: a value is the scope's name)")
}

// HasIssuer reports whether the server takes tokens of an issuer.
func (f *Flags) HasIssuer() bool { return f.oidc.issuer != "" }

// config refuses settings that cannot be.
func (f *oidcFlags) config(logger *slog.Logger) (config oidc.Config, err error) {
	if f.issuer == "" {
		if f.audience != "" || len(f.tenants) > 0 || len(f.scopes) > 0 {
			return config, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--oidc-issuer", "it is missing beside other settings of OpenID Connect; give the issuer's URL, or leave them out")
		}
		return config, nil
	}
	config = oidc.Config{
		Issuer: f.issuer, Audience: f.audience, Logger: logger,
		Mapping: oidc.Mapping{TenantClaim: f.tenantClaim, ScopeClaim: f.scopeClaim},
	}
	if config.Mapping.Tenants, err = oidc.ParseTenants("--oidc-tenants", f.tenants); err != nil {
		return config, err
	}
	if config.Mapping.Scopes, err = oidc.ParseScopes("--oidc-scopes", f.scopes); err != nil {
		return config, err
	}
	return config, config.Check()
}
