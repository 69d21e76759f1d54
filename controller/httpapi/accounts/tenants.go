package accounts

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
	"github.com/yurtrun/yurt/controller/meter"
	"github.com/yurtrun/yurt/controller/quota"
)

type (
	quotasBody struct {
		Sessions         *int        `json:"sessions,omitempty" minimum:"0" maximum:"1073741824" doc:"Sessions at the same time, including paused ones."`
		CreatesPerMinute *int        `json:"creates_per_minute,omitempty" minimum:"0" maximum:"1073741824" doc:"Sessions that are created per minute."`
		CPU              *float64    `json:"cpu,omitempty" minimum:"0" maximum:"1048576" doc:"Cores of all sessions together."`
		Memory           *param.Size `json:"memory,omitempty" doc:"Memory of all sessions together."`
		Disk             *param.Size `json:"disk,omitempty" doc:"Workspaces of all sessions together."`
		Executions       *int        `json:"executions,omitempty" minimum:"0" maximum:"1073741824" doc:"Executions that run at the same time."`
		Storage          *param.Size `json:"storage,omitempty" doc:"Size of kept results. Above this quota no execution starts; it is checked every 5 s."`
	}
	setQuotasInput struct {
		httpapi.JSONBody[quotasBody]
		Tenant string `path:"tenant" maxLength:"40" pattern:"^[a-z0-9][a-z0-9-]*$" patternDescription:"lower-case letters, digits and dashes, not a dash first" doc:"The tenant." example:"acme"`
	}
	usageInput struct {
		Tenant string `query:"tenant" maxLength:"40" pattern:"^([a-z0-9][a-z0-9-]*)?$" patternDescription:"lower-case letters, digits and dashes, not a dash first" doc:"The tenant. Default: the caller's tenant; an operator can name another."`
	}
	usageOutput  struct{ Body access.TenantUsage }
	samplesInput struct {
		Tenant    string `query:"tenant" maxLength:"40" pattern:"^([a-z0-9][a-z0-9-]*)?$" patternDescription:"lower-case letters, digits and dashes, not a dash first" doc:"The tenant. Default: the caller's tenant; an operator can name another."`
		SessionID string `query:"session_id" maxLength:"68" doc:"Return the usage of this session instead of the tenant's."`
	}
	samplesOutput    struct{ Body access.UsageHistory }
	listTenantsInput struct {
		paging.Params
	}
	listTenantsOutput struct{ Body tenantList }
	tenantList        struct {
		Tenants    []access.TenantUsage `json:"tenants" doc:"The tenants with quotas, keys or sessions, sorted by name."`
		NextCursor string               `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

// Samples returns the operation on the use over time.
func Samples(recorder *meter.Recorder) httpapi.Extension {
	return func(api *httpapi.API) {
		httpapi.Register(api, huma.Operation{
			OperationID: "list-usage-samples", Method: http.MethodGet, Path: "/usage/samples",
			Summary: "Read the usage of a tenant or a session in the last 24 hours", Tags: []string{httpapi.TagKeys},
			Description: "Returns a sample every five minutes, at most 288. Samples have the measured usage of cores, memory and workspaces, while quotas limit reserved resources.",
		}, func(ctx context.Context, in *samplesInput) (*samplesOutput, error) {
			history, err := recorder.History(ctx, in.Tenant, in.SessionID)
			return &samplesOutput{Body: history}, err
		})
	}
}

// Tenants returns the operations on tenants and their quotas.
func Tenants(tenants *quota.Tenants) httpapi.Extension {
	return func(api *httpapi.API) {
		httpapi.Register(api, huma.Operation{
			OperationID: "get-usage", Method: http.MethodGet, Path: "/usage",
			Summary: "Read the quotas and the usage of a tenant", Tags: []string{httpapi.TagKeys},
			Description: "A request that would exceed a quota is refused with status 429 and the code quota_exceeded; the problem names the quota.",
		}, func(ctx context.Context, in *usageInput) (*usageOutput, error) {
			usage, err := tenants.Usage(ctx, in.Tenant)
			return &usageOutput{Body: usage}, err
		})
		httpapi.Register(api, huma.Operation{
			OperationID: "list-tenants", Method: http.MethodGet, Path: "/tenants",
			Summary: "List tenants with their quotas and usage", Tags: []string{httpapi.TagKeys},
			Description: "Requires an operator's key.",
		}, func(ctx context.Context, in *listTenantsInput) (*listTenantsOutput, error) {
			list := func(before contract.Position, limit int) ([]access.TenantUsage, error) {
				return tenants.List(ctx, before.ID, limit)
			}
			page, next, err := paging.Page(in.Params, list, func(t access.TenantUsage) contract.Position { return paging.Named(t.Tenant) })
			return &listTenantsOutput{Body: tenantList{Tenants: page, NextCursor: next}}, err
		})
		httpapi.Register(api, huma.Operation{
			OperationID: "set-quotas", Method: http.MethodPut, Path: "/tenants/{tenant}",
			Summary: "Set the quotas of a tenant", Tags: []string{httpapi.TagKeys},
			Description: "Requires an operator's key. Replaces all quotas of the tenant: a quota that is left out has no limit. The quotas apply at all controllers at once. A tenant above a quota keeps its sessions.",
		}, func(ctx context.Context, in *setQuotasInput) (*usageOutput, error) {
			usage, err := tenants.Set(ctx, in.Tenant, in.Value().quotas())
			return &usageOutput{Body: usage}, err
		})
		httpapi.DocumentBody[quotasBody](api, http.MethodPut, "/tenants/{tenant}", "SetQuotas", "Ten sessions and 8 GiB of memory",
			map[string]any{"sessions": 10, "memory": "8Gi"})
	}
}

func (b quotasBody) quotas() access.Quotas {
	size := func(s *param.Size) *yurt.Size { return (*yurt.Size)(s) }
	return access.Quotas{
		Sessions: b.Sessions, CreatesPerMinute: b.CreatesPerMinute, CPU: b.CPU, Memory: size(b.Memory), Disk: size(b.Disk),
		Executions: b.Executions, Storage: size(b.Storage),
	}
}
