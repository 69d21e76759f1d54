package httpapi

import (
	"context"
	"net/http"
	"runtime"

	"github.com/danielgtaylor/huma/v2"
)

type (
	statusOutput struct{ Body statusBody }
	statusBody   struct {
		Status   string   `json:"status"`
		Warnings []string `json:"warnings,omitempty" doc:"Problems of a server that can serve."`
	}
	versionOutput struct{ Body versionBody }
	versionBody   struct {
		Version string `json:"version"`
		Commit  string `json:"commit,omitempty"`
		Go      string `json:"go"`
	}
)

func (a *API) registerSystem() {
	register(a, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: "/health",
		Summary: "Check that the process runs", Tags: []string{tagServer},
	}, func(context.Context, *struct{}) (*statusOutput, error) {
		return &statusOutput{Body: statusBody{Status: "ok"}}, nil
	})
	register(a, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/ready",
		Summary: "Check that the server is ready", Tags: []string{tagServer},
		Description: "The server is ready when its store answers, a node is reachable, and the sessions from before its start are restored. It is ready with warnings while a component is missing that it does not need at once.",
	}, func(ctx context.Context, _ *struct{}) (*statusOutput, error) {
		return &statusOutput{Body: statusBody{Status: "ready", Warnings: a.ctl.Warnings()}}, a.ctl.Ready(ctx)
	})
	register(a, huma.Operation{
		OperationID: "version", Method: http.MethodGet, Path: "/version",
		Summary: "Show the server's version", Tags: []string{tagServer},
	}, func(context.Context, *struct{}) (*versionOutput, error) {
		return &versionOutput{Body: versionBody{Version: a.config.Version, Commit: a.config.Commit, Go: runtime.Version()}}, nil
	})
}
