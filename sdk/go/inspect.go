package yurtclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/yurtrun/yurt"
)

// ProcessFilter narrows a list of processes. An empty field does not filter.
type ProcessFilter struct{ ExecutionID string }

func (f ProcessFilter) query() url.Values {
	return queryOf(map[string]string{"execution_id": f.ExecutionID})
}

// Processes lists the processes in the session's sandbox that match: those of executions, and those that
// outlived theirs.
func (c *Client) Processes(ctx context.Context, sessionID string, filter ...ProcessFilter) ([]yurt.Process, error) {
	return whole[yurt.Process](ctx, c, sessionPath(sessionID)+"/processes", "processes", queryOfAll(filter), 0)
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

// SessionChange is a change of a session's state with its number, which counts from 1.
type SessionChange struct {
	Seq uint64 `json:"seq"`
	yurt.Transition
}

// SessionEvents lists the changes of the session's state, oldest first.
func (c *Client) SessionEvents(ctx context.Context, sessionID string) ([]yurt.Transition, error) {
	return whole[yurt.Transition](ctx, c, sessionPath(sessionID)+"/events", "events", nil, 0)
}

// FollowChanges yields the changes of a session's state after a number, 0 for all, and further ones as they come, until the session has
// ended. A connection that breaks is made again and goes on after the last change. An error ends it.
func FollowChanges(ctx context.Context, client *Client, sessionID string, after uint64) iter.Seq2[SessionChange, error] {
	return pushed(func(each func(SessionChange) error) error {
		f := &changeFollower{each: each, last: after}
		return resume(ctx, client, sessionPath(sessionID)+"/events", f, "the stream of session "+sessionID+" broke and could not be resumed; the session goes on, follow it again")
	})
}

// changeFollower is the state of one stream across connections.
type changeFollower struct {
	each func(SessionChange) error
	last uint64 // number of the last change that each saw
	over bool   // that was the last one of all
}

func (f *changeFollower) seen() uint64 { return f.last }
func (f *changeFollower) ended() bool  { return f.over }

func (f *changeFollower) read(ctx context.Context, body io.ReadCloser) error {
	return readEvents(ctx, body, func(data []byte) (bool, error) {
		var change SessionChange
		if err := json.Unmarshal(data, &change); err != nil {
			return false, fmt.Errorf("reading a change of a session: %w", err)
		}
		if change.Seq <= f.last {
			return false, nil
		}
		if err := f.each(change); err != nil {
			return false, err
		}
		f.last, f.over = change.Seq, change.To.Ended()
		return f.over, nil
	})
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

// Container returns the sandbox of that id. Its id is that of [yurt.Session.SandboxID], and not the session's.
func Container(ctx context.Context, client *Client, id string) (yurt.Sandbox, error) {
	var found yurt.Sandbox
	err := client.get(ctx, containerPath(id), nil, &found)
	return found, err
}

// ContainerHealth tells whether a sandbox works, and its use of its limits.
func ContainerHealth(ctx context.Context, client *Client, id string) (yurt.SandboxHealth, error) {
	var health yurt.SandboxHealth
	err := client.get(ctx, containerPath(id)+"/health", nil, &health)
	return health, err
}

func containerPath(id string) string { return apiPrefix + "/containers/" + segment(id) }

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
