package yurtclient

import (
	"context"
	"net/url"
	"time"

	"github.com/yurtrun/yurt/access"
)

// AuditFilter says which entries of the audit log to list. Empty fields do not filter.
type AuditFilter struct {
	Tenant    string // an operator's; default the tenant of the client's key, and for an operator all
	Action    string
	Decision  access.Decision
	SessionID string
	KeyID     string
	Subject   string // of a caller with a token of an issuer
	RequestID string
	Since     time.Time
	Until     time.Time
	Limit     int // the most entries, the newest ones; 0 is all
}

// Audit lists entries of the audit log of the client's server, newest first. The client's key needs the scope admin.
func Audit(ctx context.Context, client *Client, filter AuditFilter) ([]access.Entry, error) {
	query := filter.query()
	setLimit(query, maxPage)
	if filter.Limit > 0 {
		setLimit(query, min(maxPage, filter.Limit))
	}
	return whole[access.Entry](ctx, client, apiPrefix+"/audit", "entries", query, max(filter.Limit, 0))
}

func (f AuditFilter) query() url.Values {
	query := queryOf(map[string]string{
		"tenant": f.Tenant, "action": f.Action, "decision": string(f.Decision), "session_id": f.SessionID, "key_id": f.KeyID, "subject": f.Subject, "request_id": f.RequestID,
	})
	setTimes(query, map[string]time.Time{"since": f.Since, "until": f.Until})
	return query
}
