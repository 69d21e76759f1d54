package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
)

// poolBody is the body of PUT /pools/{template}.
type poolBody struct {
	Min *int `json:"min" doc:"How many are always kept ready, 0 to 100."`
	Max *int `json:"max" doc:"How many demand may raise that to, min to 100; 0 keeps none."`
}

type (
	setPoolInput struct {
		Template string `path:"template" doc:"Name of the template." example:"python-basic"`
		jsonBody[poolBody]
	}
	poolOutput  struct{ Body yurt.Pool }
	poolsOutput struct{ Body poolList }
	poolList    struct {
		Pools []yurt.Pool `json:"pools" doc:"By template; of those that have one."`
	}
)

func (a *API) registerPools() {
	register(a, huma.Operation{
		OperationID: "list-pools", Method: http.MethodGet, Path: "/pools",
		Summary: "List the warm pools", Tags: []string{tagTemplates},
		Description: "Their sizes, how many sandboxes are ready, how many claims found one (`hit_rate`, 0 to 1) and how long one more takes to make. It counts since the server was started.",
	}, a.listPools)
	register(a, huma.Operation{
		OperationID: "set-pool", Method: http.MethodPut, Path: "/pools/{template}",
		Summary: "Give the warm pool of a template another size", Tags: []string{tagTemplates},
		Description: "In place of what the template says, and for as long as it is there.",
	}, a.setPool)
	a.documentBody(a.registered(http.MethodPut, "/pools/{template}"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[poolBody](a, "PoolSize")},
	})
}

func (a *API) listPools(ctx context.Context, _ *struct{}) (*poolsOutput, error) {
	list, err := a.ctl.Pools(ctx)
	return &poolsOutput{Body: poolList{orEmpty(list)}}, err
}

func (a *API) setPool(ctx context.Context, in *setPoolInput) (*poolOutput, error) {
	if in.value.Min == nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "min", "give how many sandboxes are always kept, 0 to %d", yurt.MaxPool)
	}
	if in.value.Max == nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "max", "give how many sandboxes demand may ask for, min to %d", yurt.MaxPool)
	}
	pool, err := a.ctl.SetPool(ctx, in.Template, yurt.PoolSize{Min: *in.value.Min, Max: *in.value.Max})
	return &poolOutput{Body: pool}, err
}
