package yurtclient

import (
	"context"
	"net/http"

	"github.com/yurtrun/yurt"
)

// Pools lists the warm pools of the templates that have one.
func (c *Client) Pools(ctx context.Context) ([]yurt.Pool, error) {
	var list struct {
		Pools []yurt.Pool `json:"pools"`
	}
	err := c.get(ctx, apiPrefix+"/pools", nil, &list)
	return list.Pools, err
}

// Pool returns the warm pool of a template; a template without a pool has one of size 0.
func (c *Client) Pool(ctx context.Context, template string) (yurt.Pool, error) {
	var pool yurt.Pool
	err := c.get(ctx, poolPath(template), nil, &pool)
	return pool, err
}

// UnsetPool has the warm pool of a template sized by the template again.
func (c *Client) UnsetPool(ctx context.Context, template string) (yurt.Pool, error) {
	var pool yurt.Pool
	err := c.roundTrip(ctx, call{method: http.MethodDelete, path: poolPath(template)}, &pool)
	return pool, err
}

func poolPath(template string) string { return apiPrefix + "/pools/" + segment(template) }

// SetPool gives the warm pool of a template another size, in place of the template's own. A nil
// field of the change leaves that part as it is; [yurt.PoolSize.Change] sets both. The server gets
// there within a second or so.
func (c *Client) SetPool(ctx context.Context, template string, change yurt.PoolChange) (yurt.Pool, error) {
	what, err := postJSON(poolPath(template), change)
	if err != nil {
		return yurt.Pool{}, err
	}
	what.method = http.MethodPut
	var pool yurt.Pool
	err = c.roundTrip(ctx, what, &pool)
	return pool, err
}
