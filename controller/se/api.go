package se

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
)

const prefix = "/workspace/se"

// Sessions makes and ends sessions. The methods are those of [controller.Controller].
type Sessions interface {
	CreateSession(ctx context.Context, req controller.CreateSessionRequest) (yurt.Session, error)
	Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error)
	EndSession(ctx context.Context, id string) (yurt.Session, error)
}

// Executions runs things in a session.
type Executions interface {
	Execute(ctx context.Context, sessionID string, req execution.Request) (yurt.Execution, error)
	WaitExecution(ctx context.Context, sessionID, id string) (yurt.Execution, error)
}

// Files reads and writes the files of a session.
type Files interface {
	WriteFile(ctx context.Context, sessionID, name string, content io.Reader, options yurt.WriteOptions) (yurt.FileInfo, error)
	ReadFile(ctx context.Context, sessionID, name string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error)
	ListFiles(ctx context.Context, sessionID, name string, options yurt.ListOptions) (yurt.FileList, error)
	MoveFile(ctx context.Context, sessionID, name, to string, replace bool) (yurt.FileInfo, error)
	RemoveFile(ctx context.Context, sessionID, name string, all bool) error
}

// Config is the configuration of an [API]. The three services are needed; one controller is all of them.
type Config struct {
	Sessions   Sessions
	Executions Executions
	Files      Files
	Defaults   Defaults
	Logger     *slog.Logger // nil logs nowhere
}

// Defaults are the limits of sessions that ask for no limits. A zero field is the template's.
type Defaults struct {
	CPU     float64       // cores
	Memory  yurt.Size     // bytes
	Timeout yurt.Duration // of each execution
}

// API is the older API. It is safe for concurrent use.
type API struct {
	config Config
	log    *slog.Logger

	draining context.Context // done once the server drains
	drain    context.CancelFunc
}

// New returns the older API of a controller.
func New(config Config) (*API, error) {
	if config.Sessions == nil || config.Executions == nil || config.Files == nil {
		return nil, errors.New("making the older API: it needs sessions, executions and files")
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	a := &API{config: config, log: config.Logger}
	a.draining, a.drain = context.WithCancel(context.Background())
	return a, nil
}

// Drain ends the requests that wait for an execution. The executions go on.
func (a *API) Drain() { a.drain() }

// Handlers returns the handlers of the API, by pattern.
func (a *API) Handlers() map[string]http.Handler {
	// A form on another site's page can be sent here without a question: such a request is refused.
	protection := http.NewCrossOriginProtection()
	handlers := a.handlers()
	for pattern, handler := range handlers {
		handlers[pattern] = protection.Handler(handler)
	}
	return handlers
}

func (a *API) handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"POST " + prefix + "/session/{id}":               a.answers(a.createSession),
		"DELETE " + prefix + "/session/{id}":             a.answers(a.endSession),
		"POST " + prefix + "/execute_code/{id}":          a.answers(a.executeCode),
		"POST " + prefix + "/execute/{id}":               a.answers(a.execute),
		"POST " + prefix + "/upload/{id}":                http.HandlerFunc(a.upload),
		"GET " + prefix + "/download/{id}/{filename...}": http.HandlerFunc(a.download),
		"GET " + prefix + "/files/{id}":                  a.answers(a.listFiles),
		"GET " + prefix + "/healthy":                     a.answers(a.healthy),
	}
}

// answers serves a request with the data that serve returns.
func (a *API) answers(serve func(r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := serve(r)
		a.write(w, r, data, err)
	})
}

func (a *API) healthy(*http.Request) (any, error) { return map[string]string{"status": "healthy"}, nil }
