package fleet

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

type (
	listNodesInput struct {
		paging.WholeParams
		NamePrefix string `query:"name_prefix" maxLength:"64" pattern:"^[A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, dashes and underscores" doc:"Only nodes whose name begins with this text."`
		Healthy    string `query:"healthy" enum:"true,false" doc:"true: only nodes that answer; false: only nodes that do not."`
		Draining   string `query:"draining" enum:"true,false" doc:"true: only nodes that drain; false: only nodes that do not."`
	}
	nodesOutput struct{ Body nodeList }
	nodeList    struct {
		Nodes      []yurt.NodeInfo `json:"nodes" doc:"Sorted by name."`
		NextCursor string          `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
	nodeInput struct {
		Node string `path:"node" minLength:"1" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" patternDescription:"printable characters" doc:"Name of the node." example:"node-1"`
	}
	drainInput struct {
		Node string `path:"node" minLength:"1" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" patternDescription:"printable characters" doc:"Name of the node." example:"node-1"`
		httpapi.JSONBody[drainBody]
	}
	drainBody struct {
		Grace *param.Duration `json:"grace,omitempty" doc:"Time that sessions on the node may still run, 0s to 24h. Default: 5m." example:"\"2m\""`
	}
	drainOutput struct{ Body yurt.Drain }
)

const drainPath = "/nodes/{node}/drain"

func (o operations) registerNodes(api *httpapi.API) {
	httpapi.Register(api, huma.Operation{
		OperationID: "list-nodes", Method: http.MethodGet, Path: "/nodes",
		Summary: "List the nodes", Tags: []string{httpapi.TagNodes},
		Description: "Returns each node's last known state: its warm sandboxes, its slots and those in use by sessions, and its free resources.",
	}, o.listNodes)
	httpapi.Register(api, huma.Operation{
		OperationID: "drain-node", Method: http.MethodPost, Path: drainPath,
		Summary: "Drain a node", Tags: []string{httpapi.TagNodes},
		Description: "The node takes no new sessions. Its sessions get an event and the time `ends_by`, at which they are ended. The drain lasts, also over restarts, until it is deleted.",
	}, o.drainNode)
	httpapi.DocumentBody[drainBody](api, http.MethodPost, drainPath, "DrainNode", "Two minutes for the sessions on it", map[string]any{"grace": "2m"})
	httpapi.Register(api, huma.Operation{
		OperationID: "undrain-node", Method: http.MethodDelete, Path: drainPath,
		Summary: "End the drain of a node", Tags: []string{httpapi.TagNodes},
		Description: "The node takes sessions again. The sessions that are still on it continue.",
	}, o.undrainNode)
}

func (o operations) drainNode(ctx context.Context, in *drainInput) (*drainOutput, error) {
	drain, err := o.controller.DrainNode(ctx, in.Node, (*yurt.Duration)(in.Value().Grace))
	return &drainOutput{Body: drain}, err
}

func (o operations) undrainNode(ctx context.Context, in *nodeInput) (*drainOutput, error) {
	drain, err := o.controller.UndrainNode(ctx, in.Node)
	return &drainOutput{Body: drain}, err
}

func (o operations) listNodes(ctx context.Context, in *listNodesInput) (*nodesOutput, error) {
	list, err := o.controller.NodeList(ctx)
	if err != nil {
		return nil, err
	}
	other := func(wanted string, is bool) bool { return wanted != "" && wanted != strconv.FormatBool(is) }
	drop := func(n yurt.NodeInfo) bool {
		return !strings.HasPrefix(n.Name, in.NamePrefix) || other(in.Healthy, n.Healthy) || other(in.Draining, n.Draining)
	}
	page, next, err := paging.Cut(in.WholeParams, list, drop, func(n yurt.NodeInfo) contract.Position { return paging.Named(n.Name) })
	return &nodesOutput{Body: nodeList{page, next}}, err
}
