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
	err := c.roundTrip(ctx, templateCall(http.MethodPost, "", source), &t)
	return t, err
}

// CreateTemplateStream is [Client.CreateTemplate], and calls tell with what package managers
// print meanwhile. When ctx ends or tell returns an error, there is no template.
func (c *Client) CreateTemplateStream(ctx context.Context, source []byte, tell func(string) error) (yurt.Template, error) {
	return c.followTemplate(ctx, templateCall(http.MethodPost, "", source), tell)
}

// ReplaceTemplate gives a name the template of an HCL source, which has that name too. Sessions
// that there are go on as they began.
func (c *Client) ReplaceTemplate(ctx context.Context, name string, source []byte) (yurt.Template, error) {
	var t yurt.Template
	err := c.roundTrip(ctx, templateCall(http.MethodPut, "/"+segment(name), source), &t)
	return t, err
}

// DeleteTemplate removes a template. Sessions that there are go on as they began. One that others
// extend is [yurt.CodeTemplateInUse].
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	return c.roundTrip(ctx, call{method: http.MethodDelete, path: apiPrefix + "/templates/" + segment(name)}, nil)
}

// PushTemplates makes templates, all of them or none. One whose name is taken is
// [yurt.CodeTemplateExists], or replaced. What package managers print is told.
func (c *Client) PushTemplates(ctx context.Context, templates []yurt.Template, replace bool, tell func(string) error) error {
	body := struct {
		Templates []yurt.Template   `json:"templates"`
		Extends   map[string]string `json:"extends,omitempty"`
		Replace   bool              `json:"replace,omitempty"`
	}{templates, map[string]string{}, replace}
	for _, t := range templates {
		if t.Extends != "" {
			body.Extends[t.Name] = t.Extends
		}
	}
	what, err := postJSON(apiPrefix+"/templates/batch", body)
	if err != nil {
		return err
	}
	_, err = c.followTemplate(ctx, what, tell)
	return err
}

// followTemplate sends a request that makes templates, and tells how it goes.
func (c *Client) followTemplate(ctx context.Context, what call, tell func(string) error) (yurt.Template, error) {
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

func templateCall(method, below string, source []byte) call {
	return call{
		method: method,
		path:   apiPrefix + "/templates" + below,
		header: http.Header{"Content-Type": {typeHCL}},
		body:   bytes.NewReader(source),
	}
}
