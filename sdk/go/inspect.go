package yurtclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/yurtrun/yurt"
)

// Processes lists the processes in the session's sandbox: those of executions, and those that
// outlived theirs.
func (c *Client) Processes(ctx context.Context, sessionID string) ([]yurt.Process, error) {
	return whole[yurt.Process](ctx, c, sessionPath(sessionID)+"/processes", "processes", nil, 0)
}

// SignalProcess sends a signal to a process, by its number inside the sandbox.
func (c *Client) SignalProcess(ctx context.Context, sessionID string, pid int, signal yurt.Signal) error {
	what, err := postJSON(sessionPath(sessionID)+"/processes/"+strconv.Itoa(pid)+"/signal", map[string]yurt.Signal{"signal": signal})
	if err != nil {
		return err
	}
	return c.roundTrip(ctx, what, nil)
}

// SessionMetrics returns the resource usage of the session's sandbox.
func (c *Client) SessionMetrics(ctx context.Context, sessionID string) (yurt.SandboxStats, error) {
	var stats yurt.SandboxStats
	err := c.get(ctx, sessionPath(sessionID)+"/metrics", nil, &stats)
	return stats, err
}

// SessionEvents lists the changes of the session's state, oldest first.
func (c *Client) SessionEvents(ctx context.Context, sessionID string) ([]yurt.Transition, error) {
	return whole[yurt.Transition](ctx, c, sessionPath(sessionID)+"/events", "events", nil, 0)
}

// ContainerFilter narrows a list of sandboxes. Empty fields do not filter.
type ContainerFilter struct {
	State     yurt.SandboxState
	Template  string
	Node      string
	SessionID string
}

func (f ContainerFilter) query() url.Values {
	return queryOf(map[string]string{"state": string(f.State), "template": f.Template, "node": f.Node, "session_id": f.SessionID})
}

// Containers lists the sandboxes under the sessions, oldest first.
func (c *Client) Containers(ctx context.Context, filter ...ContainerFilter) ([]yurt.Sandbox, error) {
	return whole[yurt.Sandbox](ctx, c, apiPrefix+"/containers", "containers", queryOfAll(filter), 0)
}

// PauseSession stops everything that runs in the session, which keeps its memory and
// gets no CPU time.
func (c *Client) PauseSession(ctx context.Context, id string) (yurt.Session, error) {
	return c.changeSession(ctx, call{method: http.MethodPost, path: sessionPath(id) + "/pause"})
}

// ResumeSession lets a paused session go on.
func (c *Client) ResumeSession(ctx context.Context, id string) (yurt.Session, error) {
	return c.changeSession(ctx, call{method: http.MethodPost, path: sessionPath(id) + "/resume"})
}

// SetSessionTimeout gives the session another lifetime, since its creation, and another idle
// timeout. A timeout of zero stays as it is.
func (c *Client) SetSessionTimeout(ctx context.Context, id string, lifetime, idle yurt.Duration) (yurt.Session, error) {
	what, err := postJSON(sessionPath(id)+"/timeout", struct {
		Timeout     yurt.Duration `json:"timeout,omitempty"`
		IdleTimeout yurt.Duration `json:"idle_timeout,omitempty"`
	}{lifetime, idle})
	if err != nil {
		return yurt.Session{}, err
	}
	return c.changeSession(ctx, what)
}

func (c *Client) changeSession(ctx context.Context, what call) (yurt.Session, error) {
	var s yurt.Session
	err := c.roundTrip(ctx, what, &s)
	return s, err
}
