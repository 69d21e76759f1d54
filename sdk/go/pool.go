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

// SetPool gives the warm pool of a template another size, in place of what the template
// says. The server gets there within a second or so.
func (c *Client) SetPool(ctx context.Context, template string, size yurt.PoolSize) (yurt.Pool, error) {
	what, err := postJSON(apiPrefix+"/pools/"+segment(template), size)
	if err != nil {
		return yurt.Pool{}, err
	}
	what.method = http.MethodPut
	var pool yurt.Pool
	err = c.roundTrip(ctx, what, &pool)
	return pool, err
}
