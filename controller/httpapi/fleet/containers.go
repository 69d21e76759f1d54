package fleet

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
)

type (
	containerInput struct {
		ID string `path:"id" example:"sbx_4tqzplnr3mzsyzsylstojxrtb4"`
	}
	listContainersInput struct {
		paging.WholeParams
		State     yurt.SandboxState `query:"state" enum:"ready,paused,dead" doc:"Only sandboxes in this state."`
		Template  string            `query:"template" maxLength:"64" doc:"Only sandboxes of this template."`
		Node      string            `query:"node" maxLength:"256" doc:"Only sandboxes on this node."`
		SessionID string            `query:"session_id" maxLength:"68" doc:"Only the sandbox of this session."`
	}
	containersOutput struct{ Body containerList }
	containerOutput  struct{ Body yurt.Sandbox }
	healthOutput     struct{ Body yurt.SandboxHealth }
	containerList    struct {
		Containers []yurt.Sandbox `json:"containers" doc:"Oldest first."`
		NextCursor string         `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
)

func (o operations) registerContainers(api *httpapi.API) {
	httpapi.Register(api, huma.Operation{
		OperationID: "list-containers", Method: http.MethodGet, Path: "/containers",
		Summary: "List the sandboxes, warm ones included", Tags: []string{httpapi.TagContainers},
	}, o.listContainers)
	httpapi.Register(api, huma.Operation{
		OperationID: "get-container", Method: http.MethodGet, Path: "/containers/{id}",
		Summary: "Show a sandbox", Tags: []string{httpapi.TagContainers},
	}, o.getContainer)
	httpapi.Register(api, huma.Operation{
		OperationID: "get-container-health", Method: http.MethodGet, Path: "/containers/{id}/health",
		Summary: "Check that a sandbox works", Tags: []string{httpapi.TagContainers},
		Description: "Whether its first process answers (`init_answers`), its use of its limits, and how many of its processes the kernel has ended because its memory ran out (`oom_kills`). A dead sandbox has a `reason`, and no `usage`.",
	}, o.getHealth)
}

func (o operations) listContainers(ctx context.Context, in *listContainersInput) (*containersOutput, error) {
	list, err := o.controller.Sandboxes(ctx)
	if err != nil {
		return nil, err
	}
	drop := func(s yurt.Sandbox) bool {
		return in.State != "" && s.State != in.State || in.Template != "" && s.Template != in.Template ||
			in.Node != "" && s.Node != in.Node || in.SessionID != "" && s.Labels[yurt.SessionLabel] != in.SessionID
	}
	page, next, err := paging.Cut(in.WholeParams, list, drop, func(s yurt.Sandbox) contract.Position {
		return contract.Position{CreatedAt: s.CreatedAt, ID: s.ID}
	})
	return &containersOutput{Body: containerList{page, next}}, err
}

func (o operations) getContainer(ctx context.Context, in *containerInput) (*containerOutput, error) {
	sandbox, err := o.controller.Sandbox(ctx, in.ID)
	return &containerOutput{Body: sandbox}, err
}

func (o operations) getHealth(ctx context.Context, in *containerInput) (*healthOutput, error) {
	health, err := o.controller.SandboxHealth(ctx, in.ID)
	return &healthOutput{Body: health}, err
}
