package yurtclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/yurtrun/yurt/access"
)

// Tenants manages the tenants of a server and their quotas. But for [Tenants.Usage] and the samples the client's key has to be an operator's.
type Tenants struct{ client *Client }

// NewTenants returns the tenants of the client's server.
func NewTenants(client *Client) Tenants { return Tenants{client} }

// Usage returns the quotas and the use of a tenant: that of the client's key when tenant is empty.
func (t Tenants) Usage(ctx context.Context, tenant string) (access.TenantUsage, error) {
	query := url.Values{}
	if tenant != "" {
		query.Set("tenant", tenant)
	}
	var usage access.TenantUsage
	err := t.client.get(ctx, apiPrefix+"/usage", query, &usage)
	return usage, err
}

// Samples returns the use of a tenant in the last 24 hours: that of the client's key when tenant is empty.
func (t Tenants) Samples(ctx context.Context, tenant string) (access.UsageHistory, error) {
	query := url.Values{}
	if tenant != "" {
		query.Set("tenant", tenant)
	}
	return t.samples(ctx, query)
}

// SessionSamples returns the use of a session in the last 24 hours.
func (t Tenants) SessionSamples(ctx context.Context, sessionID string) (access.UsageHistory, error) {
	return t.samples(ctx, url.Values{"session_id": {sessionID}})
}

func (t Tenants) samples(ctx context.Context, query url.Values) (access.UsageHistory, error) {
	var history access.UsageHistory
	err := t.client.get(ctx, apiPrefix+"/usage/samples", query, &history)
	return history, err
}

// SetQuotas replaces the quotas of a tenant.
func (t Tenants) SetQuotas(ctx context.Context, tenant string, quotas access.Quotas) (access.TenantUsage, error) {
	what, err := postJSON(apiPrefix+"/tenants/"+segment(tenant), quotas)
	if err != nil {
		return access.TenantUsage{}, err
	}
	what.method = http.MethodPut
	var usage access.TenantUsage
	err = t.client.roundTrip(ctx, what, &usage)
	return usage, err
}

// List lists the tenants that have quotas, keys or sessions, by name.
func (t Tenants) List(ctx context.Context) ([]access.TenantUsage, error) {
	query := url.Values{}
	setLimit(query, maxPage)
	return whole[access.TenantUsage](ctx, t.client, apiPrefix+"/tenants", "tenants", query, 0)
}
