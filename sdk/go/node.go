package yurtclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/yurtrun/yurt"
)

// NodeFilter narrows a list of nodes. Fields without a value do not filter.
type NodeFilter struct {
	NamePrefix string
	Healthy    *bool // whether it answers
	Draining   *bool
}

func (f NodeFilter) query() url.Values {
	query := queryOf(map[string]string{"name_prefix": f.NamePrefix})
	for name, wanted := range map[string]*bool{"healthy": f.Healthy, "draining": f.Draining} {
		if wanted != nil {
			query.Set(name, strconv.FormatBool(*wanted))
		}
	}
	return query
}

// Nodes lists the machines that sandboxes are on, by name, as they were last heard.
func (c *Client) Nodes(ctx context.Context, filter ...NodeFilter) ([]yurt.NodeInfo, error) {
	return whole[yurt.NodeInfo](ctx, c, apiPrefix+"/nodes", "nodes", queryOfAll(filter), 0)
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
