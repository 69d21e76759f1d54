// Package doors makes the parts of a server that decide about its callers and record them: the check of API keys, the audit log, and the
// use of tenants.
package doors

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/storage"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/accounts"
	"github.com/yurtrun/yurt/controller/meter"
	"github.com/yurtrun/yurt/controller/oidc"
	"github.com/yurtrun/yurt/controller/once"
	"github.com/yurtrun/yurt/controller/quota"
	"github.com/yurtrun/yurt/controller/tenancy"
)

// Flags say how callers are recorded.
type Flags struct {
	auditFile      string
	auditSyslog    string
	auditRetention time.Duration
	perKey         float64
	perAddress     float64
	oidc           oidcFlags
}

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.auditFile, "audit-log", "", "a file to which the audit log is added too, as lines of JSON; it may be renamed to rotate it (default: the database alone, see yurt audit)")
	flags.StringVar(&f.auditSyslog, "audit-syslog", "", "a syslog server to which the audit log is sent too: local, unix:///path, udp://host:514 or tcp://host:514")
	flags.DurationVar(&f.auditRetention, "audit-retention", audit.DefaultRetention, "how long the database keeps entries of the audit log, at least 24h")
	flags.Float64Var(&f.perKey, "rate-limit-key", 0, "the most requests a second of an API key, at all controllers together; 0 for no limit")
	flags.Float64Var(&f.perAddress, "rate-limit-address", 0, "the most requests a second of an address, likewise; do not set it behind a proxy, whose address all requests have")
	f.oidc.add(flags)
	config.Reloadable(flags, "rate-limit-key", "rate-limit-address", "oidc-tenants", "oidc-scopes")
}

// Check refuses values that cannot be.
func (f *Flags) Check() error {
	if f.auditRetention < audit.LeastRetention {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--audit-retention", "%s is too short; give %s or more", f.auditRetention, audit.LeastRetention)
	}
	for name, value := range map[string]float64{"--rate-limit-key": f.perKey, "--rate-limit-address": f.perAddress} {
		if !(value >= 0 && value <= maxRate) { // NaN too
			return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, name, "%v is out of range; give 0 for no limit, or up to %v requests a second", value, maxRate)
		}
	}
	_, err := f.oidc.config(nil)
	return err
}

// maxRate is the highest limit, in requests a second.
const maxRate = 1e6

// Doors are the parts. Each of Beside runs while the server serves.
type Doors struct {
	Keys   *auth.Authenticator // nil on a server without keys
	Audit  *audit.Log
	Once   *once.Requests
	Rates  *auth.Rates // nil before [Doors.Bound]
	Beside []func(ctx context.Context) error
	store  *storage.Storage
	issuer *oidc.Issuer // nil without one
	meter  *meter.Recorder
}

// Open makes the parts over a database.
func (f *Flags) Open(store *storage.Storage, logger *slog.Logger, metrics prometheus.Registerer) (_ *Doors, err error) {
	d := &Doors{store: store}
	d.Audit, err = audit.New(audit.Config{Store: store.Audit, File: f.auditFile, Syslog: f.auditSyslog, Retention: f.auditRetention, Logger: logger, Metrics: metrics})
	if err != nil {
		return nil, err
	}
	if d.Once, err = once.New(once.Config{Store: store.Requests, Logger: logger}); err != nil {
		return nil, err
	}
	d.Beside = append(d.Beside, d.Audit.Run, d.Once.Run)
	if !f.HasIssuer() {
		return d, nil
	}
	config, err := f.oidc.config(logger)
	if err != nil {
		return nil, err
	}
	if d.issuer, err = oidc.New(config); err != nil {
		return nil, err
	}
	d.Beside = append(d.Beside, d.issuer.Run)
	return d, nil
}

// AskForKeys makes the part that checks API keys, and the tokens of an issuer if there is one.
func (d *Doors) AskForKeys(ctx context.Context, logger *slog.Logger, metrics prometheus.Registerer) (err error) {
	config := auth.Config{Store: d.store.Keys, Logger: logger, Metrics: metrics}
	if d.issuer != nil {
		config.Issuer = d.issuer
	} else if err := d.store.NeedKey(ctx); err != nil {
		return err
	}
	if d.Keys, err = auth.New(config); err != nil {
		return err
	}
	d.Beside = append(d.Beside, d.Keys.Run)
	return nil
}

// Bound makes the bounds of requests, which so many controllers share as live says.
func (d *Doors) Bound(f *Flags, live func() int) {
	d.Rates = auth.NewRates(f.perKey, f.perAddress, live)
}

// Divided returns the store of sessions, divided among tenants, with the work of the parts beside it.
func (d *Doors) Divided() contract.Store {
	return tenancy.Of(d.store.Sessions, tenancy.WithEnded(d.Audit.ExecutionEnded), tenancy.WithAdmission(quota.NewGuard(d.store.Quotas).Admit))
}

// Measure makes the part that records the use of sessions and tenants.
func (d *Doors) Measure(sessions meter.Sessions, logger *slog.Logger) (err error) {
	d.meter, err = meter.New(meter.Config{Store: d.store.Samples, Sessions: sessions, Logger: logger})
	if err == nil {
		d.Beside = append(d.Beside, d.meter.Run)
	}
	return err
}

// Extensions returns the operations on the parts.
func (d *Doors) Extensions(sessions accounts.Sessions) []httpapi.Extension {
	keys := auth.NewKeys(d.store.Keys, nil)
	return []httpapi.Extension{
		accounts.Keys(keys), accounts.Tokens(keys, sessions), accounts.Audit(d.Audit), accounts.Tenants(quota.NewTenants(d.store.Quotas)), accounts.Samples(d.meter),
	}
}
