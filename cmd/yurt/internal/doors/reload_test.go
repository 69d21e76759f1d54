package doors

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/controller/oidc"
)

// TestSettings: each setting that is marked so is taken over by a running server, as its flag prints it.
func TestSettings(t *testing.T) {
	f, flags := &Flags{}, pflag.NewFlagSet("server", pflag.ContinueOnError)
	f.Add(flags)
	issuer, err := oidc.New(oidc.Config{
		Issuer: "https://login.example.com", Audience: "yurt", Mapping: oidc.Mapping{TenantClaim: oidc.DefaultTenantClaim, ScopeClaim: oidc.DefaultScopeClaim},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &Doors{issuer: issuer}
	d.Bound(f, func() int { return 1 })
	settings := d.Settings()
	samples := map[string][]string{
		"rate-limit-key": {"0", "7"}, "rate-limit-address": {"0", "0.1"},
		"oidc-tenants": {"acme.example=acme,b=acme"}, "oidc-scopes": {"developers=sessions:write"},
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if _, marked := flag.Annotations["yurt_reload"]; !marked {
			return
		}
		for _, value := range append([]string{flag.DefValue}, samples[flag.Name]...) {
			if value != "[]" {
				if err := flag.Value.Set(value); err != nil {
					t.Fatal(err)
				}
			}
			take := settings[config.Key(flag.Name)]
			if take == nil {
				t.Fatalf("a running server does not take over --%s", flag.Name)
			}
			if err := take(flag.Value.String()); err != nil {
				t.Errorf("--%s=%s is not taken over: %v", flag.Name, flag.Value, err)
			}
		}
		delete(samples, flag.Name)
	})
	if len(samples) > 0 {
		t.Errorf("these settings are not marked: %v", samples)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if first, second := d.Rates.CheckAddress(r), d.Rates.CheckAddress(r); first != nil || second == nil {
		t.Errorf("at 0.1 requests a second the first one has the error %v, and the second %v", first, second)
	}
	if settings["oidc_tenants"]("[nonsense]") == nil {
		t.Error("a list that cannot be is taken over")
	}
}
