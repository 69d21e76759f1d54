package yurtclient

import (
	"bytes"
	"context"
	"net/http"

	"github.com/yurtrun/yurt"
)

// Templates lists every template.
func (c *Client) Templates(ctx context.Context) ([]yurt.Template, error) {
	var list struct {
		Templates []yurt.Template `json:"templates"`
	}
	err := c.get(ctx, apiPrefix+"/templates", nil, &list)
	return list.Templates, err
}

// Template returns one template.
func (c *Client) Template(ctx context.Context, name string) (yurt.Template, error) {
	var t yurt.Template
	err := c.get(ctx, apiPrefix+"/templates/"+segment(name), nil, &t)
	return t, err
}

// CreateTemplate makes a template from HCL source that holds exactly one.
func (c *Client) CreateTemplate(ctx context.Context, source []byte) (yurt.Template, error) {
	var t yurt.Template
	err := c.roundTrip(ctx, call{
		method: http.MethodPost,
		path:   apiPrefix + "/templates",
		header: http.Header{"Content-Type": {typeHCL}},
		body:   bytes.NewReader(source),
	}, &t)
	return t, err
}
