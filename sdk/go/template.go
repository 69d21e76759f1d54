package yurtclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// CreateTemplate makes a template from HCL source that holds exactly one. It returns when
// the packages are installed that the template names, if it names any.
func (c *Client) CreateTemplate(ctx context.Context, source []byte) (yurt.Template, error) {
	var t yurt.Template
	err := c.roundTrip(ctx, creation(source), &t)
	return t, err
}

// CreateTemplateStream is [Client.CreateTemplate], and calls tell with what package managers
// print meanwhile. When ctx ends or tell returns an error, there is no template.
func (c *Client) CreateTemplateStream(ctx context.Context, source []byte, tell func(string) error) (yurt.Template, error) {
	what := creation(source)
	what.header.Set("Accept", typeEventStream)
	resp, err := c.send(ctx, what)
	if err != nil {
		return yurt.Template{}, err
	}
	var made *yurt.Template
	err = readEvents(ctx, resp.Body, func(data []byte) (bool, error) {
		var event struct {
			Data     string         `json:"data"`
			Template *yurt.Template `json:"template"`
			Problem  *problem       `json:"problem"`
		}
		if err := json.Unmarshal(data, &event); err != nil {
			return false, fmt.Errorf("reading how the template goes: %w", err)
		}
		switch made = event.Template; {
		case event.Problem != nil:
			return true, event.Problem.asError()
		case made != nil:
			return true, nil
		default:
			return false, tell(event.Data)
		}
	})
	if err == nil && made == nil {
		err = yurt.Errorf(yurt.CodeUnavailable, "the connection broke while the template was made; ask whether it is there")
	}
	if err != nil {
		return yurt.Template{}, err
	}
	return *made, nil
}

func creation(source []byte) call {
	return call{
		method: http.MethodPost,
		path:   apiPrefix + "/templates",
		header: http.Header{"Content-Type": {typeHCL}},
		body:   bytes.NewReader(source),
	}
}
