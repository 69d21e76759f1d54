package mcp

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/internal/suggest"
)

// Sessions makes and ends the sessions that clients know as sandboxes.
type Sessions interface {
	CreateSession(ctx context.Context, req controller.CreateSessionRequest) (yurt.Session, error)
	Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error)
	EndSession(ctx context.Context, id string) (yurt.Session, error)
	// DeleteResults ends the session, if it has not ended, and removes its executions and their results.
	DeleteResults(ctx context.Context, id string) (yurt.Session, error)
	Templates(ctx context.Context) ([]yurt.Template, error)
}

// Executions runs things in a session. The methods are those of [controller.Controller].
type Executions interface {
	Execute(ctx context.Context, sessionID string, req execution.Request) (yurt.Execution, error)
	WatchExecution(ctx context.Context, sessionID, id string, after uint64, each func(yurt.Event) error) error
	WaitExecution(ctx context.Context, sessionID, id string) (yurt.Execution, error)
	CancelExecution(ctx context.Context, sessionID, id string) (yurt.Execution, error)
	Execution(ctx context.Context, sessionID, id string) (yurt.Execution, error)
	Logs(ctx context.Context, sessionID string, limit int) ([]yurt.LogEntry, bool, error)
}

// Files reads and writes the files of a session.
type Files interface {
	WriteFile(ctx context.Context, sessionID, name string, content io.Reader, options yurt.WriteOptions) (yurt.FileInfo, error)
	ReadFile(ctx context.Context, sessionID, name string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error)
	ListFiles(ctx context.Context, sessionID, name string, options yurt.ListOptions) (yurt.FileList, error)
}

// Config is the configuration of a [Server]. The three services are needed; one controller is all of them.
type Config struct {
	Sessions   Sessions
	Executions Executions
	Files      Files

	// Decide returns nil when the caller of a context may do an operation of the policy; nil lets every caller do everything.
	Decide func(ctx context.Context, operation string) error

	Audit *audit.Log // records calls that change something and calls that are refused; nil keeps no record

	Tools   []string     // names of the tools that there are; empty for all, see [ToolNames]
	Limits  Limits       // of each client
	Version string       // of the program
	Logger  *slog.Logger // nil logs nowhere
}

// Limits bound each client. A client is the name that it gives itself and the address that it calls from,
// so the limits restrain an agent that runs wild, and no client that lies about its name.
type Limits struct {
	Calls     int // of tools at once; 0 is no limit
	Sandboxes int // that it made and that live; 0 is no limit
}

// Check refuses tools that there are not and limits that cannot be. [New] calls it.
func (c Config) Check() error {
	for _, name := range c.Tools {
		if names := ToolNames(); !slices.Contains(names, name) {
			hint := "the tools are " + strings.Join(names, ", ")
			if near := suggest.Nearest(name, names); near != "" {
				hint = "did you mean " + near + "?"
			}
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "mcp-tools", "there is no tool %.64q; %s", name, hint)
		}
	}
	for _, limit := range []struct {
		field string
		value int
	}{{"mcp-client-calls", c.Limits.Calls}, {"mcp-client-sandboxes", c.Limits.Sandboxes}} {
		if limit.value < 0 {
			return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, limit.field, "%d is out of range; give 1 or more, or 0 for no limit", limit.value)
		}
	}
	return nil
}
