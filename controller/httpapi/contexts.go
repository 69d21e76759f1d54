package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
)

type (
	contextInput struct {
		SessionParams
		Name     string `path:"name" example:"default"`
		Language string `query:"language" doc:"Of the context. Default each that has one of the name."`
	}
	listContextsOutput struct{ Body contextList }
	contextList        struct {
		Contexts []yurt.Context `json:"contexts" doc:"By name; at most 16."`
	}
)

func (a *API) registerContexts() {
	register(a, huma.Operation{
		OperationID: "list-contexts", Method: http.MethodGet, Path: "/sessions/{id}/contexts",
		Summary: "List the contexts of a session", Tags: []string{tagExecutions},
		Description: "A context is an interpreter whose variables, imports and working directory last from one execution of code to the next. The first execution that names one makes it.",
	}, a.listContexts)
	register(a, huma.Operation{
		OperationID: "delete-context", Method: http.MethodDelete, Path: "/sessions/{id}/contexts/{name}", DefaultStatus: http.StatusNoContent,
		Summary: "Remove a context", Tags: []string{tagExecutions},
		Description: "What runs or waits in it ends.",
	}, a.deleteContext)
	register(a, huma.Operation{
		OperationID: "restart-context", Method: http.MethodPost, Path: "/sessions/{id}/contexts/{name}/restart", DefaultStatus: http.StatusNoContent,
		Summary: "Restart a context", Tags: []string{tagExecutions},
		Description: "What runs in it ends, and its variables are lost; what waits goes on in a fresh interpreter.",
	}, a.restartContext)
}

func (a *API) listContexts(ctx context.Context, in *SessionParams) (*listContextsOutput, error) {
	contexts, err := a.ctl.Contexts(ctx, in.ID)
	return &listContextsOutput{Body: contextList{Contexts: contexts}}, err
}

func (a *API) deleteContext(ctx context.Context, in *contextInput) (*struct{}, error) {
	return nil, a.ctl.RemoveContext(ctx, in.ID, in.Name, in.Language)
}

func (a *API) restartContext(ctx context.Context, in *contextInput) (*struct{}, error) {
	return nil, a.ctl.RestartContext(ctx, in.ID, in.Name, in.Language)
}
