// Package fleet has the operations of the REST API on nodes, on warm pools and on the sandboxes under the sessions.
package fleet

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi"
)

// Nodes lists nodes and drains them.
type Nodes interface {
	NodeList(ctx context.Context) ([]yurt.NodeInfo, error)
	DrainNode(ctx context.Context, name string, grace *yurt.Duration) (yurt.Drain, error)
	UndrainNode(ctx context.Context, name string) (yurt.Drain, error)
}

// Pools shows warm pools and sets their sizes.
type Pools interface {
	Pools(ctx context.Context) ([]yurt.Pool, error)
	Pool(ctx context.Context, template string) (yurt.Pool, error)
	SetPool(ctx context.Context, template string, change yurt.PoolChange) (yurt.Pool, error)
	UnsetPool(ctx context.Context, template string) (yurt.Pool, error)
}

// Sandboxes shows sandboxes.
type Sandboxes interface {
	Sandboxes(ctx context.Context) ([]yurt.Sandbox, error)
	Sandbox(ctx context.Context, id string) (yurt.Sandbox, error)
	SandboxHealth(ctx context.Context, id string) (yurt.SandboxHealth, error)
}

// Controller is the controller that the operations translate for.
type Controller interface {
	Nodes
	Pools
	Sandboxes
}

// operations are the handlers.
type operations struct{ controller Controller }

// Operations returns the operations of a controller.
func Operations(controller Controller) httpapi.Extension {
	return func(api *httpapi.API) {
		o := operations{controller}
		o.registerContainers(api)
		o.registerPools(api)
		o.registerNodes(api)
	}
}
