package se

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/internal/outputjson"
)

type codeBody struct {
	Code       string    `json:"code"`
	Language   string    `json:"language"`
	ScriptType string    `json:"script_type"` // the language, as older clients have it
	Filename   string    `json:"filename"`    // older clients name the code, which needs no name here
	Args       []string  `json:"args"`
	Timeout    *duration `json:"timeout"`
}

// executeCode runs code.
func (a *API) executeCode(r *http.Request) (any, error) {
	var body codeBody
	if err := decode(r, &body, false); err != nil {
		return nil, err
	}
	return a.run(r, body.Timeout, execution.Request{Code: body.Code, Language: language(body.Language, body.ScriptType), Args: body.Args})
}

// language returns the language of a request, by the names of the older runtime.
func language(given, scriptType string) string {
	name := strings.ToLower(cmp.Or(given, scriptType, yurt.DefaultLanguage))
	switch name {
	case "shell", "sh":
		return "bash"
	default:
		return name
	}
}

type executeBody struct {
	Command    string          `json:"command"`
	Args       []string        `json:"args"`
	Code       string          `json:"code"`
	Event      json.RawMessage `json:"event"`
	Language   string          `json:"language"`
	ScriptType string          `json:"script_type"`
	Timeout    *duration       `json:"timeout"`
}

// execute runs a line for the shell, or calls the handler that code defines: the older runtime had the one
// and then the other at this address.
func (a *API) execute(r *http.Request) (any, error) {
	var body executeBody
	if err := decode(r, &body, false); err != nil {
		return nil, err
	}
	switch {
	case body.Command != "" && body.Code != "":
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "command", "give either a command or code, not both")
	case body.Command != "" && len(body.Args) > 0:
		return a.run(r, body.Timeout, execution.Request{Command: append([]string{body.Command}, body.Args...)})
	case body.Command != "":
		return a.run(r, body.Timeout, execution.Request{Command: execution.ShellCommand(body.Command)})
	case body.Code != "":
		return a.run(r, body.Timeout, execution.Request{
			Code: body.Code, Handler: "handler", Event: body.Event, Language: language(body.Language, body.ScriptType),
		})
	default:
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "command", "there is nothing to run; give a command, or code that defines a handler")
	}
}

type runData struct {
	ExitCode      int             `json:"exit_code"`
	Stdout        string          `json:"stdout"`
	Stderr        string          `json:"stderr"`
	Result        json.RawMessage `json:"result,omitempty"`
	ExecutionTime float64         `json:"execution_time"` // seconds

	output *outputjson.Output // what is kept apart of stdout and stderr
}

// run runs something in the session of a request and answers with its outcome.
func (a *API) run(r *http.Request, timeout *duration, req execution.Request) (any, error) {
	session, err := a.sessionOf(r)
	if err != nil {
		return nil, err
	}
	req.Timeout = a.timeout(session, timeout)
	started, err := a.config.Executions.Execute(r.Context(), session.ID, req)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.draining, cancel)()
	ended, err := a.config.Executions.WaitExecution(waiting, session.ID, started.ID)
	if err != nil && a.draining.Err() != nil && r.Context().Err() == nil {
		return nil, yurt.Errorf(yurt.CodeUnavailable, "the server is shutting down; execution %s goes on", started.ID)
	}
	if err != nil {
		return nil, err
	}
	return outcome(r.Context(), ended.Result)
}

// timeout is that of the request, else that of the session, else the operator's.
func (a *API) timeout(session yurt.Session, given *duration) *yurt.Duration {
	if given != nil {
		return (*yurt.Duration)(given)
	}
	if n, err := strconv.ParseInt(session.Metadata[metadataTimeout], 10, 64); err == nil {
		timeout := yurt.Duration(n)
		return &timeout
	}
	if timeout := a.config.Defaults.Timeout; timeout > 0 {
		return &timeout
	}
	return nil
}

// outcome is the data of an execution. The older runtime has an error for those that it ended itself; of
// code that failed it has an exit code, and the error is at the end of the output.
func outcome(ctx context.Context, result *yurt.Result) (any, error) {
	marked, output := outputjson.Mark(result)
	data := runData{
		ExitCode: result.ExitCode, Stdout: marked.Stdout, Stderr: marked.Stderr, Result: result.Result, ExecutionTime: result.Metrics.DurationMS / 1000,
		output: output,
	}
	if string(data.Result) == "null" {
		data.Result = nil
	}
	failed := result.Error
	if failed == nil {
		return data, nil
	}
	stderr, err := result.TextAt(ctx, yurt.EventStderr, result.OutputBytes(yurt.EventStderr)-yurt.InlineOutput, yurt.InlineOutput)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(stderr, failed.Type) { // a traceback names the type
		data.Stderr += strings.Join(append(failed.Stacktrace, failed.Type+": "+failed.Message), "\n") + "\n"
	}
	switch failed.Type {
	case yurt.ErrorTypeTimeout:
		return nil, &failedRun{failure{Code: "EXECUTION_TIMEOUT", Message: failed.Message}, data}
	case yurt.ErrorTypeOutOfMemory:
		return nil, &failedRun{failure{Code: "RESOURCE_LIMIT", Message: failed.Message}, data}
	case yurt.ErrorTypeSyntax, yurt.ErrorTypeCompile, yurt.ErrorTypeHandlerNotFound:
		return nil, &failedRun{failure{Code: "INVALID_CODE", Message: failed.Message}, data}
	default:
		return data, nil
	}
}
