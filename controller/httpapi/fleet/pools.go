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
	Min *int `json:"min,omitempty" minimum:"0" maximum:"100" doc:"How many are always kept ready. Without it that stays as it is."`
	Max *int `json:"max,omitempty" minimum:"0" maximum:"100" doc:"How many demand may raise that to, at least min. Without it that stays as it is, but for a min above it, which raises it to twice min. With 0 for both the pool keeps no sandbox."`
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
		TemplatePrefix string `query:"template_prefix" maxLength:"64" pattern:"^[A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores" doc:"Only pools of templates whose name begins so."`
	}
	poolsOutput struct{ Body poolList }
	poolList    struct {
		Pools      []yurt.Pool `json:"pools" doc:"By template; of those that have one."`
		NextCursor string      `json:"next_cursor" doc:"Asks for the next page; empty on the last."`
	}
)

func (o operations) registerPools(api *httpapi.API) {
	httpapi.Register(api, huma.Operation{
		OperationID: "list-pools", Method: http.MethodGet, Path: "/pools",
		Summary: "List the warm pools", Tags: []string{httpapi.TagTemplates},
		Description: "Their sizes, how many sandboxes demand asks for (`target`), are `ready` and being made (`pending`), how many claims found one (`hit_rate`, 0 to 1), how long one more takes to make, and why the last could not be made (`failure`), if so. It counts since the server was started; of several controllers only the one that leads refills, and counts that.",
	}, o.listPools)
	httpapi.Register(api, huma.Operation{
		OperationID: "get-pool", Method: http.MethodGet, Path: poolPath,
		Summary: "Look at the warm pool of a template", Tags: []string{httpapi.TagTemplates},
		Description: "Of a template that keeps none, `max` is 0.",
	}, o.getPool)
	httpapi.Register(api, huma.Operation{
		OperationID: "unset-pool", Method: http.MethodDelete, Path: poolPath,
		Summary: "Have the warm pool of a template sized by the template again", Tags: []string{httpapi.TagTemplates},
		Description: "It answers with the pool, which has the size that the template gives from then on. One that was given no other size it leaves alone.",
	}, o.unsetPool)
	httpapi.Register(api, huma.Operation{
		OperationID: "set-pool", Method: http.MethodPut, Path: poolPath,
		Summary: "Give the warm pool of a template another size", Tags: []string{httpapi.TagTemplates},
		Description: "In place of what the template says, until the size is deleted. What the body leaves out stays as it is.",
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
