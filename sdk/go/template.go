package yurtclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/yurtrun/yurt"
)

// TemplateFilter narrows a list of templates. Empty fields do not filter.
type TemplateFilter struct {
	NamePrefix string
	Runtime    string // that it has
}

func (f TemplateFilter) query() url.Values {
	return queryOf(map[string]string{"name_prefix": f.NamePrefix, "runtime": f.Runtime})
}

// Templates lists the templates that match, by name.
func (c *Client) Templates(ctx context.Context, filter ...TemplateFilter) ([]yurt.Template, error) {
	return whole[yurt.Template](ctx, c, apiPrefix+"/templates", "templates", queryOfAll(filter), 0)
}

// Template returns one template.
func (c *Client) Template(ctx context.Context, name string) (yurt.Template, error) {
	var t yurt.Template
	err := c.get(ctx, apiPrefix+"/templates/"+segment(name), nil, &t)
	return t, err
}

// TaggedTemplate returns one template with its ETag.
func TaggedTemplate(ctx context.Context, client *Client, name string) (t yurt.Template, etag string, err error) {
	resp, err := client.send(ctx, call{method: http.MethodGet, path: apiPrefix + "/templates/" + segment(name), header: http.Header{"Accept": {"application/json"}}})
	if err != nil {
		return t, "", err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&t); err != nil {
		return t, "", fmt.Errorf("reading a template: %w", err)
	}
	return t, resp.Header.Get("ETag"), nil
}

// CreateTemplate makes a template from HCL source that holds exactly one. It returns when
// the packages are installed that the template names, if it names any.
func (c *Client) CreateTemplate(ctx context.Context, source []byte) (yurt.Template, error) {
	var t yurt.Template
	err := c.roundTrip(ctx, templateCall(http.MethodPost, "", source), &t)
	return t, err
}

// CreateTemplateStream is [Client.CreateTemplate], and calls tell with the output of package
// managers meanwhile. When ctx ends or tell returns an error, there is no template.
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

// ReplaceTemplateIf is [Client.ReplaceTemplate] under a condition: with Match the ETag of [TaggedTemplate], no change of another client is
// lost. A condition that does not hold is a [yurt.CodePreconditionFailed] error, which has the present ETag.
func ReplaceTemplateIf(ctx context.Context, client *Client, name string, source []byte, condition yurt.Condition) (yurt.Template, error) {
	what := templateCall(http.MethodPut, "/"+segment(name), source)
	what.header, what.body = conditionHeader(condition, typeHCL), io.NopCloser(what.body)
	var t yurt.Template
	err := client.roundTrip(ctx, what, &t)
	return t, err
}

// DeleteTemplate removes a template. Sessions that there are go on as they began. One that others
// extend is [yurt.CodeTemplateInUse].
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	return c.roundTrip(ctx, call{method: http.MethodDelete, path: apiPrefix + "/templates/" + segment(name)}, nil)
}

// PushTemplates makes all of the templates, or fails and makes no template. One whose name is taken
// is [yurt.CodeTemplateExists], or replaced. It calls tell with the output of package managers.
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

// PrepareTemplate has each node that can run the template pull its image and install its packages,
// and returns the names of these nodes. Without this a node does so when the first session needs them. Tell
// is called with the output of the package managers, or, of several nodes, when each is ready. It takes minutes for large
// packages. A node that fails does not stop the others, and the error names it.
func (c *Client) PrepareTemplate(ctx context.Context, name string, tell func(string) error) ([]string, error) {
	last, err := c.templateEvents(ctx, call{method: http.MethodPost, path: apiPrefix + "/templates/" + segment(name) + "/prepare", header: http.Header{}}, tell)
	return last.Nodes, err
}

// templateEvent is an event of a request about templates.
type templateEvent struct {
	Type     string         `json:"type"`
	Data     string         `json:"data"`
	Template *yurt.Template `json:"template"`
	Nodes    []string       `json:"nodes"`
	Problem  *problem       `json:"problem"`
}

// followTemplate sends a request that makes templates, and tells its progress.
func (c *Client) followTemplate(ctx context.Context, what call, tell func(string) error) (yurt.Template, error) {
	last, err := c.templateEvents(ctx, what, tell)
	if err != nil || last.Template == nil {
		return yurt.Template{}, err
	}
	return *last.Template, nil
}

// templateEvents sends a request about templates, tells its progress, and returns its last event.
func (c *Client) templateEvents(ctx context.Context, what call, tell func(string) error) (templateEvent, error) {
	what.header.Set("Accept", typeEventStream)
	resp, err := c.send(ctx, what)
	if err != nil {
		return templateEvent{}, err
	}
	var last templateEvent
	err = readEvents(ctx, resp.Body, func(data []byte) (bool, error) {
		var event templateEvent
		if err := json.Unmarshal(data, &event); err != nil {
			return false, fmt.Errorf("reading how the template goes: %w", err)
		}
		switch event.Type {
		case "failed":
			return true, event.Problem.asError()
		case "progress":
			return false, tell(event.Data)
		default:
			last = event
			return true, nil
		}
	})
	if err == nil && last.Type == "" {
		err = yurt.Errorf(yurt.CodeUnavailable, "the connection broke before the server was done with the template; ask whether it is there")
	}
	return last, err
}

func templateCall(method, below string, source []byte) call {
	return call{
		method: method,
		path:   apiPrefix + "/templates" + below,
		header: http.Header{"Content-Type": {typeHCL}},
		body:   bytes.NewReader(source),
	}
}

// PoolFilter narrows a list of pools. An empty field does not filter.
type PoolFilter struct{ TemplatePrefix string }

func (f PoolFilter) query() url.Values {
	return queryOf(map[string]string{"template_prefix": f.TemplatePrefix})
}

// Pools lists the warm pools that match, of the templates that have one.
func (c *Client) Pools(ctx context.Context, filter ...PoolFilter) ([]yurt.Pool, error) {
	return whole[yurt.Pool](ctx, c, apiPrefix+"/pools", "pools", queryOfAll(filter), 0)
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
