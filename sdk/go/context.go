package yurtclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/yurtrun/yurt"
)

// Contexts lists the contexts of a session: interpreters whose variables, imports and
// working directory last from one execution of code to the next.
func (c *Client) Contexts(ctx context.Context, sessionID string) ([]yurt.Context, error) {
	var body struct {
		Contexts []yurt.Context `json:"contexts"`
	}
	err := c.get(ctx, sessionPath(sessionID)+"/contexts", nil, &body)
	return body.Contexts, err
}

// RestartContext gives a context a fresh interpreter. What runs in it ends, what waits
// there goes on in the fresh one. An empty language means each that has a context of
// the name.
func (c *Client) RestartContext(ctx context.Context, sessionID, name, language string) error {
	what := call{method: http.MethodPost, path: contextPath(sessionID, name) + "/restart", query: languageQuery(language)}
	return c.roundTrip(ctx, what, nil)
}

// RemoveContext removes a context; what runs or waits in it ends.
func (c *Client) RemoveContext(ctx context.Context, sessionID, name, language string) error {
	what := call{method: http.MethodDelete, path: contextPath(sessionID, name), query: languageQuery(language)}
	return c.roundTrip(ctx, what, nil)
}

func contextPath(sessionID, name string) string {
	return sessionPath(sessionID) + "/contexts/" + segment(name)
}

func languageQuery(language string) url.Values {
	if language == "" {
		return nil
	}
	return url.Values{"language": {language}}
}
