package yurtclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/yurtrun/yurt"
)

// ContextFilter narrows a list of contexts. An empty field does not filter.
type ContextFilter struct{ Language string }

func (f ContextFilter) query() url.Values { return languageQuery(f.Language) }

// Contexts lists the contexts of a session that match: interpreters whose variables, imports and
// working directory last from one execution of code to the next.
func (c *Client) Contexts(ctx context.Context, sessionID string, filter ...ContextFilter) ([]yurt.Context, error) {
	return whole[yurt.Context](ctx, c, sessionPath(sessionID)+"/contexts", "contexts", queryOfAll(filter), 0)
}

// RestartContext gives a context a fresh interpreter. The code that runs in it ends; waiting
// executions go on in the fresh one. An empty language means each that has a context of the name.
func (c *Client) RestartContext(ctx context.Context, sessionID, name, language string) error {
	what := call{method: http.MethodPost, path: contextPath(sessionID, name) + "/restart", query: languageQuery(language)}
	return c.roundTrip(ctx, what, nil)
}

// RemoveContext removes a context; executions that run or wait in it end.
func (c *Client) RemoveContext(ctx context.Context, sessionID, name, language string) error {
	what := call{method: http.MethodDelete, path: contextPath(sessionID, name), query: languageQuery(language)}
	return c.roundTrip(ctx, what, nil)
}

// Complete says how code in a context may go on at the cursor. The code is not run. A context that
// stays busy is [yurt.CodeContextBusy]. With a language the question makes the context if it is
// missing. The question's Kind is set here.
func (c *Client) Complete(ctx context.Context, sessionID, name string, question yurt.Question) (yurt.Completion, error) {
	var completion yurt.Completion
	err := c.ask(ctx, contextPath(sessionID, name)+"/complete", question, &completion)
	return completion, err
}

// Inspect describes the name at the cursor in a context; see [Client.Complete].
func (c *Client) Inspect(ctx context.Context, sessionID, name string, question yurt.Question) (yurt.Inspection, error) {
	var inspection yurt.Inspection
	err := c.ask(ctx, contextPath(sessionID, name)+"/inspect", question, &inspection)
	return inspection, err
}

func (c *Client) ask(ctx context.Context, path string, q yurt.Question, answer any) error {
	what, err := postJSON(path, struct {
		Code     string        `json:"code"`
		Cursor   *int          `json:"cursor,omitempty"`
		Detail   int           `json:"detail,omitempty"`
		Language string        `json:"language,omitempty"`
		Timeout  yurt.Duration `json:"timeout,omitempty"`
	}{q.Code, q.Cursor, q.Detail, q.Language, q.Timeout})
	if err != nil {
		return err
	}
	what.reads = true
	return c.roundTrip(ctx, what, answer)
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
