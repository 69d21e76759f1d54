package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
)

type (
	nodesOutput struct{ Body nodeList }
	nodeList    struct {
		Nodes []yurt.NodeInfo `json:"nodes" doc:"By name."`
	}
)

func (a *API) registerNodes() {
	register(a, huma.Operation{
		OperationID: "list-nodes", Method: http.MethodGet, Path: "/nodes",
		Summary: "List the nodes", Tags: []string{tagNodes},
		Description: "What each has ready, what sessions have of it, and what it can still take, as it was last heard.",
	}, a.listNodes)
}

func (a *API) listNodes(ctx context.Context, _ *struct{}) (*nodesOutput, error) {
	list, err := a.ctl.NodeList(ctx)
	return &nodesOutput{Body: nodeList{orEmpty(list)}}, err
}
