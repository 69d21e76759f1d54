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
	Code     string        `json:"code,omitempty" doc:"Source code of a snippet or a handler." example:"print(6 * 7)"`
	Language string        `json:"language,omitempty" doc:"Language of the code, or of the dependencies of a handler with a command. Optional if the template has one runtime." example:"python"`
	Command  param.Command `json:"command,omitempty"`
	Handler  param.Handler `json:"handler,omitempty"`
	Event    param.JSON    `json:"event,omitempty" doc:"The handler's argument. Its member __timeout overrides timeout and is not passed on."`
	Context  param.Context `json:"context,omitempty"`

	Files param.Files `json:"files,omitempty"`
	Entry string      `json:"entry,omitempty" doc:"File to run instead of code: one of files, or a file that is in the working directory already." example:"src/main.py"`
	Args  []string    `json:"args,omitempty" doc:"Command-line arguments for the code or the entry."`

	Dependencies []string `json:"dependencies,omitempty" doc:"Packages to install first, in the notation of the language's package manager. They are kept, so that later executions need no installation. For code, manifests among files, such as requirements.txt, count too. For a handler with a command, they include the runtime client that serves it." example:"[\"numpy==2.1.0\"]"`

	Stdin       string            `json:"stdin,omitempty" doc:"Standard input, as text."`
	StdinOpen   bool              `json:"stdin_open,omitempty" doc:"Keep standard input open, for more input during the execution."`
	TTY         *terminalBody     `json:"tty,omitempty" doc:"Connect stdin, stdout and stderr to a terminal of this size. Stdin stays open."`
	Env         map[string]string `json:"env,omitempty" doc:"Variables that are added to the session's environment. The API never returns them."`
	Cwd         string            `json:"cwd,omitempty" doc:"Working directory, absolute or relative to /workspace. Default: /workspace."`
	Timeout     *param.Duration   `json:"timeout,omitempty" doc:"Time limit, 1ms to 3600s. Default: the template's, which is 300s unless the template sets another."`
	OutputLimit *param.Size       `json:"output_limit,omitempty" doc:"Most output to keep of each stream; further output is dropped and reported. Default: 8Mi, at most 64Mi."`

	Async  bool `json:"async,omitempty" doc:"Respond at once with the record of the execution."`
	Stream bool `json:"stream,omitempty" doc:"Respond with the events of the execution as they occur, as text/event-stream."`

	OnDisconnect yurt.OnDisconnect `json:"on_disconnect,omitempty" enum:"continue,interrupt" doc:"If the connection of this request ends before the execution: continue the execution (the default), or interrupt it like DELETE of the execution. Not allowed with async, whose client does not wait."`
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
	ExecutionID string `json:"execution_id" doc:"The same as id, under the name of the parameter ?execution_id=."`
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
		Summary: "Run code, a command or a handler in a session", Tags: []string{TagExecutions},
		Description: "Runs one of these: `code` in a `language`; the `entry` of a project whose `files` are written to the working directory first; a `command`; the `handler` in `code` with an `event`; a `handler` with the `command` of a Lambda runtime client that serves it and is kept for the next invocation. " +
			"If `code` only defines things, a function `handler` among them, that function is called, unless `context` is given or `handler` is null. " +
			"Responds with the result after the end, at once with the record (`async`), or with the events (`stream`). " +
			"A failure of the code is not an error of the request: the result has it. The execution continues if the client disconnects, unless `on_disconnect` is `interrupt`.",
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
