package fleet

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
)

const poolPath = "/pools/{template}"

// poolBody is the body of PUT /pools/{template}.
type poolBody struct {
	Min *int `json:"min,omitempty" minimum:"0" maximum:"100" doc:"Number of sandboxes that are always kept ready. If left out, it does not change."`
	Max *int `json:"max,omitempty" minimum:"0" maximum:"100" doc:"Largest number of ready sandboxes when demand grows, at least min. If left out, it does not change, unless min is above it: then it becomes twice min. If both are 0, the pool keeps no sandbox."`
}

type (
	poolInput struct {
		Template string `path:"template" doc:"Name of the template." example:"python-basic"`
	}
	setPoolInput struct {
		Template string `path:"template" doc:"Name of the template." example:"python-basic"`
		httpapi.JSONBody[poolBody]
	}
	poolOutput     struct{ Body yurt.Pool }
	listPoolsInput struct {
		paging.WholeParams
		TemplatePrefix string `query:"template_prefix" maxLength:"64" pattern:"^[A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores" doc:"Only pools of templates whose name begins with this text."`
	}
	poolsOutput struct{ Body poolList }
	poolList    struct {
		Pools      []yurt.Pool `json:"pools" doc:"The pools, sorted by template. Templates without a pool are left out."`
		NextCursor string      `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

func (o operations) registerPools(api *httpapi.API) {
	httpapi.Register(api, huma.Operation{
		OperationID: "list-pools", Method: http.MethodGet, Path: "/pools",
		Summary: "List the warm pools", Tags: []string{httpapi.TagTemplates},
		Description: "Each pool has its limits, the number of sandboxes that demand needs (`target`), that are `ready` and that are being made (`pending`), the share of claims that found a ready sandbox (`hit_rate`, 0 to 1), the time to make one more, and the reason of the last failure (`failure`). Counters begin at the server's start. Of several controllers, only the leader refills pools and counts it.",
	}, o.listPools)
	httpapi.Register(api, huma.Operation{
		OperationID: "get-pool", Method: http.MethodGet, Path: poolPath,
		Summary: "Show the warm pool of a template", Tags: []string{httpapi.TagTemplates},
		Description: "For a template without a warm pool, `max` is 0.",
	}, o.getPool)
	httpapi.Register(api, huma.Operation{
		OperationID: "unset-pool", Method: http.MethodDelete, Path: poolPath,
		Summary: "Reset the size of a template's warm pool", Tags: []string{httpapi.TagTemplates},
		Description: "Responds with the pool, which has the template's size again. Without an own size, the pool does not change.",
	}, o.unsetPool)
	httpapi.Register(api, huma.Operation{
		OperationID: "set-pool", Method: http.MethodPut, Path: poolPath,
		Summary: "Change the size of a template's warm pool", Tags: []string{httpapi.TagTemplates},
		Description: "The size overrides the template's until it is reset. Members that the body leaves out do not change.",
	}, o.setPool)
	httpapi.DocumentBody[poolBody](api, http.MethodPut, poolPath, "PoolSize", "One or two sandboxes", map[string]any{"min": 1, "max": 2})
}

func (o operations) listPools(ctx context.Context, in *listPoolsInput) (*poolsOutput, error) {
	list, err := o.controller.Pools(ctx)
	if err != nil {
		return nil, err
	}
	drop := func(p yurt.Pool) bool { return !strings.HasPrefix(p.Template, in.TemplatePrefix) }
	page, next, err := paging.Cut(in.WholeParams, list, drop, func(p yurt.Pool) contract.Position { return paging.Named(p.Template) })
	return &poolsOutput{Body: poolList{page, next}}, err
}

func (o operations) getPool(ctx context.Context, in *poolInput) (*poolOutput, error) {
	pool, err := o.controller.Pool(ctx, in.Template)
	return &poolOutput{Body: pool}, err
}

func (o operations) unsetPool(ctx context.Context, in *poolInput) (*poolOutput, error) {
	pool, err := o.controller.UnsetPool(ctx, in.Template)
	return &poolOutput{Body: pool}, err
}

func (o operations) setPool(ctx context.Context, in *setPoolInput) (*poolOutput, error) {
	pool, err := o.controller.SetPool(ctx, in.Template, yurt.PoolChange(in.Value()))
	return &poolOutput{Body: pool}, err
}
