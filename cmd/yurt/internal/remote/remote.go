// Package remote lets the MCP server of this process use the sandboxes of a server elsewhere: it has the
// methods of a controller, and asks a controller for each by the Go client.
package remote

import (
	"context"
	"io"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/mcp"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// Controller is a controller that a client of the REST API reaches.
type Controller struct{ client *yurtclient.Client }

var (
	_ mcp.Sessions   = (*Controller)(nil)
	_ mcp.Executions = (*Controller)(nil)
	_ mcp.Files      = (*Controller)(nil)
)

// New returns the controller that client calls.
func New(client *yurtclient.Client) *Controller { return &Controller{client} }

// CreateSession implements [mcp.Sessions].
func (c *Controller) CreateSession(ctx context.Context, req controller.CreateSessionRequest) (yurt.Session, error) {
	sent := yurtclient.CreateSessionRequest{
		TemplateID: req.TemplateID, Mode: req.Mode, Timeout: value(req.Timeout), IdleTimeout: value(req.IdleTimeout), Env: req.Env, Metadata: req.Metadata,
	}
	if r := req.Resources; r.CPU != nil || r.Memory != nil || r.Disk != nil {
		sent.Resources = &yurtclient.Resources{CPU: value(r.CPU), Memory: value(r.Memory), Disk: value(r.Disk)}
	}
	return c.client.CreateSession(ctx, sent)
}

// value returns the value that p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// Sessions implements [mcp.Sessions].
func (c *Controller) Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error) {
	filter := yurtclient.SessionFilter{TemplateID: query.TemplateID, State: query.State, Metadata: query.Metadata}
	var found []yurt.Session
	for {
		page, err := c.client.Sessions(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, session := range page.Sessions {
			if query.Live && session.State.Ended() {
				continue
			}
			if found = append(found, session); len(found) == query.Limit {
				return found, nil
			}
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return found, nil
		}
	}
}

// EndSession implements [mcp.Sessions].
func (c *Controller) EndSession(ctx context.Context, id string) (yurt.Session, error) {
	return c.client.EndSession(ctx, id)
}

// DeleteResults implements [mcp.Sessions].
func (c *Controller) DeleteResults(ctx context.Context, id string) (yurt.Session, error) {
	return c.client.EndSession(ctx, id, yurtclient.DeleteResults)
}

// Templates implements [mcp.Sessions].
func (c *Controller) Templates(ctx context.Context) ([]yurt.Template, error) {
	return c.client.Templates(ctx)
}

// Execute implements [mcp.Executions].
func (c *Controller) Execute(ctx context.Context, sessionID string, req execution.Request) (yurt.Execution, error) {
	sent := yurtclient.ExecuteRequest{
		Code: req.Code, Language: req.Language, Command: yurtclient.Command{Argv: req.Command}, Handler: req.Handler, Plain: req.Plain,
		Event: req.Event, Context: req.Context, Dependencies: req.Dependencies, Stdin: string(req.Stdin), Env: req.Env, Cwd: req.Cwd, Timeout: value(req.Timeout),
	}
	if req.ContextName != nil {
		sent.Context = yurtclient.InContext(*req.ContextName)
	}
	for _, file := range req.Files {
		if sent.Files == nil {
			sent.Files = yurtclient.Files{}
		}
		sent.Files[file.Path] = file.Data
	}
	return c.client.Start(ctx, sessionID, sent)
}

// WatchExecution implements [mcp.Executions].
func (c *Controller) WatchExecution(ctx context.Context, sessionID, id string, after uint64, each func(yurt.Event) error) error {
	return c.client.WatchExecution(ctx, sessionID, id, after, each)
}

// WaitExecution implements [mcp.Executions].
func (c *Controller) WaitExecution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	ended := yurt.Execution{ID: id, SessionID: sessionID}
	err := c.client.WatchExecution(ctx, sessionID, id, 0, func(event yurt.Event) error {
		if event.Type == yurt.EventEnded {
			ended.Result, ended.State = event.Result, event.Result.State()
		}
		return nil
	})
	return ended, err
}

// CancelExecution implements [mcp.Executions].
func (c *Controller) CancelExecution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	return c.client.CancelExecution(ctx, sessionID, id)
}

// Execution implements [mcp.Executions].
func (c *Controller) Execution(ctx context.Context, sessionID, id string) (yurt.Execution, error) {
	execution, err := c.client.Execution(ctx, sessionID, id)
	if err != nil || !execution.State.Ended() {
		return execution, err
	}
	return c.client.Result(ctx, sessionID, id)
}

// Logs implements [mcp.Executions].
func (c *Controller) Logs(ctx context.Context, sessionID string, limit int) ([]yurt.LogEntry, bool, error) {
	return c.client.Logs(ctx, sessionID, limit)
}

// WriteFile implements [mcp.Files].
func (c *Controller) WriteFile(ctx context.Context, sessionID, name string, content io.Reader, options yurt.WriteOptions) (yurt.FileInfo, error) {
	return c.client.WriteFile(ctx, sessionID, name, content, options)
}

// ReadFile implements [mcp.Files]. The size is that of the whole file, which the answer to a request for
// a part of it does not say.
func (c *Controller) ReadFile(ctx context.Context, sessionID, name string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error) {
	if span == (yurt.Span{}) {
		return c.client.GetFile(ctx, sessionID, name)
	}
	info, err := c.client.StatFile(ctx, sessionID, name)
	if err != nil {
		return nil, info, err
	}
	content, _, err := c.client.GetFileSpan(ctx, sessionID, name, span)
	return content, info, err
}

// ListFiles implements [mcp.Files]. The pages of the REST API go on after a cursor, and not after a
// path, so a list that goes on is read from its beginning.
func (c *Controller) ListFiles(ctx context.Context, sessionID, name string, options yurt.ListOptions) (yurt.FileList, error) {
	var list yurt.FileList
	skipping := options.After != ""
	ask := yurtclient.ListFilesOptions{Depth: options.Depth, Limit: options.Limit}
	for {
		page, err := c.client.ListFiles(ctx, sessionID, name, ask)
		if err != nil {
			return yurt.FileList{}, err
		}
		files := page.Files
		if skipping {
			at := slices.IndexFunc(files, func(f yurt.FileInfo) bool { return f.Path == options.After })
			skipping = at < 0
			files = files[at+1:]
			if skipping {
				files = nil
			}
		}
		room := options.Limit - len(list.Files)
		list.Files = append(list.Files, files[:min(room, len(files))]...)
		if len(files) > room || (len(list.Files) == options.Limit && page.NextCursor != "") {
			list.More = true
			return list, nil
		}
		if ask.Cursor = page.NextCursor; ask.Cursor == "" {
			return list, nil
		}
	}
}
