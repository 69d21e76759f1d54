package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
	"github.com/yurtrun/yurt/controller/once"
)

// executeBody is the body of POST /sessions/{id}/execute.
type executeBody struct {
	Code     string        `json:"code,omitempty" doc:"Source text: of a snippet, or of a handler." example:"print(6 * 7)"`
	Language string        `json:"language,omitempty" doc:"Of the code, or of the dependencies of a handler with a command. May be left out when the template has one runtime." example:"python"`
	Command  param.Command `json:"command,omitempty"`
	Handler  param.Handler `json:"handler,omitempty"`
	Event    param.JSON    `json:"event,omitempty" doc:"What the handler is called with. Its member __timeout wins over timeout and is not passed on."`
	Context  param.Context `json:"context,omitempty"`

	Files param.Files `json:"files,omitempty"`
	Entry string      `json:"entry,omitempty" doc:"File to run in place of code: one of files, or one that is in the working directory already." example:"src/main.py"`
	Args  []string    `json:"args,omitempty" doc:"Arguments of the program that code or entry is."`

	Dependencies []string `json:"dependencies,omitempty" doc:"Packages to install first, as the package manager of the language writes them. They are kept: the next time costs nothing. Of code, manifests among files, such as requirements.txt, count too. A handler with a command has them as well, the client that serves it among them." example:"[\"numpy==2.1.0\"]"`

	Stdin       string            `json:"stdin,omitempty" doc:"Standard input, as text."`
	StdinOpen   bool              `json:"stdin_open,omitempty" doc:"More may be written to it while it runs."`
	TTY         *terminalBody     `json:"tty,omitempty" doc:"Stdin, which is open, stdout and stderr are a terminal of this size."`
	Env         map[string]string `json:"env,omitempty" doc:"Added to the session's environment. Never shown again."`
	Cwd         string            `json:"cwd,omitempty" doc:"Working directory; relative ones begin at /workspace, which is the default."`
	Timeout     *param.Duration   `json:"timeout,omitempty" doc:"1ms to 3600s. Default the template's, which is 300s unless it says otherwise."`
	OutputLimit *param.Size       `json:"output_limit,omitempty" doc:"Of each stream; more is cut and reported. Default 8Mi, at most 64Mi."`

	Async  bool `json:"async,omitempty" doc:"Answer at once with the record of the execution."`
	Stream bool `json:"stream,omitempty" doc:"Answer with its events as they come, as text/event-stream."`

	OnDisconnect yurt.OnDisconnect `json:"on_disconnect,omitempty" enum:"continue,interrupt" doc:"If the connection of this request ends before the execution does: continue (the default), or interrupt it, as DELETE of the execution would. Not with async, whose client does not wait."`
}

func (b executeBody) request() execution.Request {
	req := execution.Request{
		Code: b.Code, Language: b.Language, Command: b.Command, Handler: b.Handler.Name, Plain: b.Handler.Plain, Event: json.RawMessage(b.Event),
		Files: b.Files, Entry: b.Entry, Args: b.Args, Dependencies: b.Dependencies,
		Env: b.Env, Cwd: b.Cwd, StdinOpen: b.StdinOpen, Terminal: (*yurt.TerminalSize)(b.TTY),
		Timeout:     (*yurt.Duration)(b.Timeout),
		OutputLimit: (*yurt.Size)(b.OutputLimit),
	}
	req.Context, req.ContextName = b.Context.Fields, b.Context.Name
	if req.Plain && string(req.Event) == "null" {
		req.Event = nil // a client that writes out every field means no event
	}
	if b.Stdin != "" {
		req.Stdin = []byte(b.Stdin)
	}
	return req
}

// executionBody is the record of an execution.
type executionBody struct {
	yurt.Execution
	ExecutionID string `json:"execution_id" doc:"The same as id: the name that ?execution_id= has."`
}

func newExecutionBody(e yurt.Execution) executionBody {
	return executionBody{Execution: e, ExecutionID: e.ID}
}

// resultBody is an execution that has ended: its record and, beside it, its result.
type resultBody struct {
	ExecutionID string              `json:"execution_id"`
	SessionID   string              `json:"session_id"`
	Kind        yurt.ExecutionKind  `json:"kind"`
	Language    string              `json:"language,omitempty"`
	State       yurt.ExecutionState `json:"state"`
	CreatedAt   time.Time           `json:"created_at"`
	yurt.Result
}

// respondResult answers with the result of an execution that has ended.
func respondResult(log *slog.Logger, e yurt.Execution, headers ...string) (*huma.StreamResponse, error) {
	if e.Result == nil {
		return nil, errors.New("answering with a result: the execution ended without one")
	}
	return respondOutput(log, e.Result, func(result *yurt.Result) any {
		return resultBody{
			ExecutionID: e.ID, SessionID: e.SessionID, Kind: e.Kind, Language: e.Language,
			State: e.State, CreatedAt: e.CreatedAt, Result: *result,
		}
	}, headers...), nil
}

type executeInput struct {
	SessionParams
	jsonBody[executeBody]
}

func (a *API) registerExecute() {
	register(a, huma.Operation{
		OperationID: "execute", Method: http.MethodPost, Path: "/sessions/{id}/execute",
		Summary: "Run something in a session", Tags: []string{TagExecutions},
		Description: "Runs `code` in a `language`, or the `entry` of a project whose `files` are written to the working directory first; or a `command`; or the `handler` in `code`, with an `event`; or a `handler` with the `command` of a Lambda runtime client that serves it, which is kept for the next invocation. " +
			"`code` that only defines things, a function `handler` among them, is called like a handler, unless `context` is given or `handler` is null. " +
			"Answers with the result once it has ended, at once with its record (`async`), or with its events (`stream`). " +
			"That the code failed is no error of the request. An execution goes on when its caller leaves, unless `on_disconnect` is `interrupt`.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The result, or with `stream` the events.", Content: map[string]*huma.MediaType{
				typeJSON:        {Schema: schemaOf[resultBody](a, "ExecutionResult")},
				typeEventStream: {Schema: eventSchema(schemaOf[eventBody](a, "Event"))},
			}},
			"202": {Description: "With `async`: the record.", Content: map[string]*huma.MediaType{
				typeJSON: {Schema: schemaOf[executionBody](a, "ExecutionRecord")},
			}},
		},
	}, a.execute)
	a.documentBody(a.registered(http.MethodPost, "/sessions/{id}/execute"), map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[executeBody](a, "Execute")},
	})
}

func (a *API) execute(ctx context.Context, in *executeInput) (*huma.StreamResponse, error) {
	body := in.value
	if body.Async && body.Stream {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "stream", "give either async or stream, not both")
	}
	if err := body.OnDisconnect.Validate("on_disconnect"); err != nil {
		return nil, err
	}
	interrupts := body.OnDisconnect == yurt.DisconnectInterrupt
	if body.Async && interrupts {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "on_disconnect", "the client of an async execution does not wait for it; leave out either async or on_disconnect")
	}
	started, err := startOnce(ctx, a.ctl, in.ID, body.request())
	if err != nil {
		return nil, err
	}
	location := prefix + "/sessions/" + started.SessionID + "/executions/" + started.ID
	switch {
	case body.Async:
		return respond(http.StatusAccepted, newExecutionBody(started), "Location", location), nil
	case body.Stream:
		return a.streamEvents(started, streaming{interrupts: interrupts}, "Location", location), nil
	}
	ended, err := a.wait(ctx, started)
	if interrupts && ctx.Err() != nil && !a.drains() {
		a.ctl.CallerLeft(started)
	}
	if err != nil {
		return nil, err
	}
	return respondResult(a.log, ended, "Location", location)
}

// startOnce starts an execution, or returns the one that a request with the same idempotency key started.
func startOnce(ctx context.Context, executions *controller.Controller, sessionID string, req execution.Request) (yurt.Execution, error) {
	if id := once.Execution(ctx); id != "" {
		return executions.Execution(ctx, sessionID, id)
	}
	started, err := executions.Execute(ctx, sessionID, req)
	begun := err == nil
	if err != nil && started.ID != "" { // it may have begun nevertheless
		_, lost := executions.Execution(ctx, sessionID, started.ID)
		begun = lost == nil
	}
	if begun {
		once.Began(ctx, started.ID)
	}
	return started, err
}

// wait returns the execution once it has ended. A server that shuts down does not
// wait on.
func (a *API) wait(ctx context.Context, started yurt.Execution) (yurt.Execution, error) {
	waiting, cancel := a.untilDrain(ctx)
	defer cancel()
	ended, err := a.ctl.WaitExecution(waiting, started.SessionID, started.ID)
	if err != nil && errors.Is(context.Cause(waiting), errDraining) {
		return yurt.Execution{}, yurt.Errorf(yurt.CodeUnavailable, "the server is shutting down; execution %s goes on, ask for its result later", started.ID)
	}
	return ended, err
}
