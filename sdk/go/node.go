package yurtclient

import (
	"context"
	"net/http"

	"github.com/yurtrun/yurt"
)

// Nodes lists the machines that sandboxes are on, by name, as they were last heard.
func (c *Client) Nodes(ctx context.Context) ([]yurt.NodeInfo, error) {
	var list struct {
		Nodes []yurt.NodeInfo `json:"nodes"`
	}
	err := c.get(ctx, apiPrefix+"/nodes", nil, &list)
	return list.Nodes, err
}

// DrainNode has a node take no new sandboxes, and ends the sessions on it once the grace is over.
func (c *Client) DrainNode(ctx context.Context, name string, grace yurt.Duration) (yurt.Drain, error) {
	what, err := postJSON(drainPath(name), map[string]yurt.Duration{"grace": grace})
	if err != nil {
		return yurt.Drain{}, err
	}
	var drain yurt.Drain
	err = c.roundTrip(ctx, what, &drain)
	return drain, err
}

// UndrainNode has a node that drains take sessions again.
func (c *Client) UndrainNode(ctx context.Context, name string) (yurt.Drain, error) {
	var drain yurt.Drain
	err := c.roundTrip(ctx, call{method: http.MethodDelete, path: drainPath(name)}, &drain)
	return drain, err
}

func drainPath(name string) string { return apiPrefix + "/nodes/" + segment(name) + "/drain" }
