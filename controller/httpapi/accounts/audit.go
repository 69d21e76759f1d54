package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
)

type (
	listAuditInput struct {
		paging.Params
		Tenant    string          `query:"tenant" maxLength:"40" doc:"Only entries of this tenant. Default: the caller's tenant; for an operator all entries, including those of unknown callers."`
		Action    string          `query:"action" maxLength:"128" doc:"Only entries of this operation, tool or event." example:"create-session"`
		Decision  access.Decision `query:"decision" enum:"allowed,denied,failed,event" doc:"Only entries with this decision."`
		SessionID string          `query:"session_id" maxLength:"68" doc:"Only entries about this session."`
		KeyID     string          `query:"key_id" maxLength:"68" doc:"Only entries of this API key's requests."`
		Subject   string          `query:"subject" maxLength:"255" doc:"Only entries of this caller, by the name in the tokens of its issuer." example:"auth0|5f7c8ec7c33c6c004bbafe82"`
		RequestID string          `query:"request_id" maxLength:"128" doc:"Only entries of this request."`
		Since     time.Time       `query:"since" doc:"Only entries from this time on."`
		Until     time.Time       `query:"until" doc:"Only entries before this time."`
	}
	listAuditOutput struct{ Body auditList }
	auditList       struct {
		Entries    []access.Entry `json:"entries" doc:"Newest first. An entry appears about a second after its request."`
		NextCursor string         `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

// Resolve implements huma.Resolver.
func (in *listAuditInput) Resolve(ctx huma.Context) []error {
	return paging.CheckTimes(ctx, "since", "until")
}

// Audit returns the operation on the audit log.
func Audit(log *audit.Log) httpapi.Extension {
	return func(api *httpapi.API) {
		httpapi.Register(api, huma.Operation{
			OperationID: "list-audit", Method: http.MethodGet, Path: "/audit",
			Summary: "List the audit log", Tags: []string{httpapi.TagKeys},
			Description: "Changes, refusals, and security events. Entries are never changed.",
		}, func(ctx context.Context, in *listAuditInput) (*listAuditOutput, error) {
			list := func(before contract.Position, limit int) ([]access.Entry, error) {
				return log.List(ctx, in.Tenant, audit.Query{
					Action: in.Action, Decision: in.Decision, SessionID: in.SessionID, KeyID: in.KeyID, Subject: in.Subject, RequestID: in.RequestID,
					Since: in.Since, Until: in.Until, Before: before, Limit: limit,
				})
			}
			page, next, err := paging.Page(in.Params, list, func(e access.Entry) contract.Position {
				return contract.Position{CreatedAt: e.At, ID: e.ID}
			})
			return &listAuditOutput{Body: auditList{Entries: page, NextCursor: next}}, err
		})
	}
}
