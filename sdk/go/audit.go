package yurtclient

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/yurtrun/yurt/access"
)

// maxPage is the most entries that a page of a list has.
const maxPage = 500

// AuditFilter says which entries of the audit log to list. Empty fields do not filter.
type AuditFilter struct {
	Tenant    string // an operator's; default the tenant of the client's key, and for an operator all
	Action    string
	Decision  access.Decision
	SessionID string
	KeyID     string
	RequestID string
	Since     time.Time
	Until     time.Time
	Limit     int // the most entries, the newest ones; 0 is all
}

// Audit lists entries of the audit log of the client's server, newest first. The client's key needs the scope admin.
func Audit(ctx context.Context, client *Client, filter AuditFilter) ([]access.Entry, error) {
	query := filter.query()
	var all []access.Entry
	for {
		left := maxPage
		if filter.Limit > 0 {
			left = min(maxPage, filter.Limit-len(all))
		}
		query.Set("limit", strconv.Itoa(left))
		var page struct {
			Entries    []access.Entry `json:"entries"`
			NextCursor string         `json:"next_cursor"`
		}
		if err := client.get(ctx, apiPrefix+"/audit", query, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Entries...)
		if page.NextCursor == "" || filter.Limit > 0 && len(all) >= filter.Limit {
			return all, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

func (f AuditFilter) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{
		"tenant": f.Tenant, "action": f.Action, "decision": string(f.Decision), "session_id": f.SessionID, "key_id": f.KeyID, "request_id": f.RequestID,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return query
}
