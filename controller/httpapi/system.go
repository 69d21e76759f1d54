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
		Warnings []string `json:"warnings,omitempty" doc:"What is not as it should be, although it can serve."`
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
		Summary: "Say that the process lives", Tags: []string{tagServer},
	}, func(context.Context, *struct{}) (*statusOutput, error) {
		return &statusOutput{Body: statusBody{Status: "ok"}}, nil
	})
	register(a, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/ready",
		Summary: "Say whether it can serve", Tags: []string{tagServer},
		Description: "Its store answers, a node is reachable, and the sessions of an earlier life are found again. It is ready with warnings while what it does not need at once is away.",
	}, func(ctx context.Context, _ *struct{}) (*statusOutput, error) {
		return &statusOutput{Body: statusBody{Status: "ready", Warnings: a.ctl.Warnings()}}, a.ctl.Ready(ctx)
	})
	register(a, huma.Operation{
		OperationID: "version", Method: http.MethodGet, Path: "/version",
		Summary: "Say which build it is", Tags: []string{tagServer},
	}, func(context.Context, *struct{}) (*versionOutput, error) {
		return &versionOutput{Body: versionBody{Version: a.config.Version, Commit: a.config.Commit, Go: runtime.Version()}}, nil
	})
}
