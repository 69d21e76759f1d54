package yurtclient

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/yurtrun/yurt"
)

// CreateSessionRequest describes the session to make. Zero fields take the template's defaults.
type CreateSessionRequest struct {
	TemplateID  string            `json:"template_id"`
	Mode        yurt.Mode         `json:"mode,omitempty"` // default persistent
	AgentID     string            `json:"agent_id,omitempty"`
	Reuse       bool              `json:"reuse,omitempty"`        // the agent's live session, if it has one of this kind
	Timeout     yurt.Duration     `json:"timeout,omitempty"`      // lifetime
	IdleTimeout yurt.Duration     `json:"idle_timeout,omitempty"` // since the last use
	Env         map[string]string `json:"env,omitempty"`
	Resources   *Resources        `json:"resources,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Files       Files             `json:"files,omitempty"` // in its workspace before it is ready; not with Reuse

	// IdempotencyKey makes a repeated create answer with the first one's session. A create that fails frees its key.
	IdempotencyKey string `json:"-"`
}

// Resources are the limits that a session asks for; a zero field takes the
// template's.
type Resources struct {
	CPU    float64   `json:"cpu,omitempty"`    // cores
	Memory yurt.Size `json:"memory,omitempty"` // bytes
	Disk   yurt.Size `json:"disk,omitempty"`   // bytes of /workspace
	PIDs   int       `json:"pids,omitempty"`

	DiskKind yurt.DiskKind `json:"disk_kind,omitempty"` // the storage of /workspace
	IOWeight int           `json:"io_weight,omitempty"` // share of the disks' time
	Ulimits  yurt.Ulimits  `json:"ulimits,omitzero"`    // of each process
}

// CreateSession makes a session and returns it once its sandbox is ready. Without an idempotency key the session ends when ctx ends
// before that, and the call is not repeated when its answer is lost.
func (c *Client) CreateSession(ctx context.Context, req CreateSessionRequest) (yurt.Session, error) {
	what, err := postJSON(apiPrefix+"/sessions", req)
	if err != nil {
		return yurt.Session{}, err
	}
	if what.single = true; req.IdempotencyKey != "" {
		what.header.Set(headerIdempotencyKey, req.IdempotencyKey)
	}
	var s yurt.Session
	err = c.roundTrip(ctx, what, &s)
	return s, err
}

// Session returns one session.
func (c *Client) Session(ctx context.Context, id string) (yurt.Session, error) {
	var s yurt.Session
	err := c.get(ctx, sessionPath(id), nil, &s)
	return s, err
}

// SessionFilter narrows and pages a list of sessions. Zero fields do not filter.
type SessionFilter struct {
	IDPrefix   string // the beginning of the id, such as "ses_4q7k"
	TemplateID string
	State      yurt.SessionState
	Live       bool // only those that have not ended
	AgentID    string
	Metadata   map[string]string // all of these must match

	CreatedAfter  time.Time // or at that time
	CreatedBefore time.Time

	Limit  int    // sessions a page; default 50, at most 500
	Cursor string // [SessionPage.NextCursor] of the page before
}

func (f SessionFilter) query() url.Values {
	q := queryOf(map[string]string{
		"id_prefix": f.IDPrefix, "template_id": f.TemplateID, "state": string(f.State), "agent_id": f.AgentID, "cursor": f.Cursor,
	})
	if f.Live {
		q.Set("live", "true")
	}
	setTimes(q, map[string]time.Time{"created_after": f.CreatedAfter, "created_before": f.CreatedBefore})
	setLimit(q, f.Limit)
	for key, value := range f.Metadata {
		q.Set("metadata["+key+"]", value)
	}
	return q
}

// SessionPage is one page of sessions, newest first.
type SessionPage struct {
	Sessions   []yurt.Session `json:"sessions"`
	NextCursor string         `json:"next_cursor"` // empty on the last page
}

// Sessions lists sessions, ended ones included while they are kept.
func (c *Client) Sessions(ctx context.Context, filter SessionFilter) (SessionPage, error) {
	var page SessionPage
	err := c.get(ctx, apiPrefix+"/sessions", filter.query(), &page)
	return page, err
}

// EachSession yields the sessions that match, newest first, and asks for each page when its first session is wanted. An error ends it.
func EachSession(ctx context.Context, client *Client, filter SessionFilter) iter.Seq2[yurt.Session, error] {
	return pages[yurt.Session](ctx, client, apiPrefix+"/sessions", "sessions", filter.query())
}

// EndOption changes how a session ends.
type EndOption string

// DeleteResults removes the session's executions and their results at once, in place of after a day. A session that has ended can be
// ended again with it.
const DeleteResults EndOption = "delete"

// EndSession ends the session and returns its last state. Ending one that has
// ended is a [yurt.CodeSessionEnded] error, except with [DeleteResults].
func (c *Client) EndSession(ctx context.Context, id string, options ...EndOption) (yurt.Session, error) {
	query := url.Values{}
	for _, option := range options {
		query.Set("results", string(option))
	}
	var s yurt.Session
	err := c.roundTrip(ctx, call{method: http.MethodDelete, path: sessionPath(id), query: query}, &s)
	if removed(err) {
		return c.Session(ctx, id)
	}
	return s, err
}

func sessionPath(id string) string { return apiPrefix + "/sessions/" + segment(id) }
