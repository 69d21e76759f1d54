package yurtclient

import (
	"context"

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
