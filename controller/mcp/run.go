package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/execution"
)

func runCode() tool {
	return tool{
		name: "run_code", title: "Run code", kind: replaces,
		description: "Runs code in a sandbox and returns its output, the value of its last expression and its figures as images. Variables and imports last from one call to the next in the same sandbox and context. " +
			"Without sandbox_id it makes a sandbox and says so: pass the sandbox_id that it returns in all later calls of the conversation.",
	}
}

func runCommand() tool {
	return tool{
		name: "run_command", title: "Run a command", kind: replaces,
		description: "Runs a line for the shell in a sandbox, from /workspace, and returns its output and exit code. Packages are not installed by it: name them in the dependencies of run_code.",
	}
}

func invokeHandler() tool {
	return tool{
		name: "invoke_handler", title: "Invoke a handler", kind: replaces,
		description: "Calls a Lambda-style function, such as handler(event, context), that the code defines, and returns its return value as JSON.",
	}
}

type runCodeInput struct {
	SandboxID    string            `json:"sandbox_id,omitempty" jsonschema:"Where to run it. Without it a sandbox is made."`
	Code         string            `json:"code" jsonschema:"Source text."`
	Language     string            `json:"language,omitempty" jsonschema:"Of the code, such as python, javascript, typescript, bash, go, rust, java, c, cpp, csharp or r. Default python."`
	Context      *string           `json:"context,omitempty" jsonschema:"Name of the place where variables last. Default: default. An empty text means a fresh interpreter."`
	Dependencies []string          `json:"dependencies,omitempty" jsonschema:"Packages to install first, as the package manager of the language writes them, such as numpy==2.1.0. They are kept."`
	Files        map[string]string `json:"files,omitempty" jsonschema:"Text files by path, written to the working directory first."`
	Stdin        string            `json:"stdin,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	Cwd          string            `json:"cwd,omitempty" jsonschema:"Working directory, relative to /workspace."`
	Timeout      *duration         `json:"timeout,omitempty" jsonschema:"Seconds, or text such as 10m. Default the template's, at most an hour."`
	TemplateID   string            `json:"template_id,omitempty" jsonschema:"Template of the sandbox that is made without sandbox_id."`
}

func (in runCodeInput) request() execution.Request {
	req := execution.Request{
		Code: in.Code, Language: in.Language, ContextName: in.Context, Plain: true, Dependencies: in.Dependencies,
		Stdin: []byte(in.Stdin), Env: in.Env, Cwd: in.Cwd, Timeout: in.Timeout.value(),
	}
	if req.Language == "" {
		req.Language = yurt.DefaultLanguage
	}
	for path, text := range in.Files {
		req.Files = append(req.Files, yurt.SourceFile{Path: path, Data: []byte(text)})
	}
	return req
}

func (s *Server) runCode(ctx context.Context, c call, in runCodeInput) (runOutput, []sdk.Content, error) {
	if in.SandboxID != "" {
		if in.TemplateID != "" {
			return runOutput{}, nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "template_id", "a sandbox that is there has its template already; leave out either template_id or sandbox_id")
		}
		return s.run(ctx, c, in.SandboxID, in.request())
	}
	_, leave, err := s.admit(ctx, nil, operationPrefix+createSandbox().name)
	if err != nil {
		return runOutput{}, nil, err
	}
	defer leave()
	create := controller.CreateSessionRequest{TemplateID: in.TemplateID}
	if connection := connectionOf(ctx, c.request.Session.ID()); connection != "" {
		create.Metadata = map[string]string{metadataConnection: connection}
	}
	session, err := s.create(ctx, c, create)
	if err != nil {
		return runOutput{}, nil, err
	}
	out, content, err := s.run(ctx, c, session.ID, in.request())
	if err != nil {
		s.end(ctx, session.ID) // its id is in no answer
		return runOutput{}, nil, err
	}
	out.Created = true
	said := &sdk.TextContent{Text: "Made the sandbox " + session.ID + " for this conversation. Pass sandbox_id in the next calls to go on in it; terminate_sandbox ends it."}
	return out, append([]sdk.Content{said}, content...), nil
}

type runCommandInput struct {
	SandboxID string            `json:"sandbox_id"`
	Command   string            `json:"command" jsonschema:"A line for the shell."`
	Stdin     string            `json:"stdin,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Cwd       string            `json:"cwd,omitempty" jsonschema:"Working directory, relative to /workspace."`
	Timeout   *duration         `json:"timeout,omitempty" jsonschema:"Seconds, or text such as 10m. Default the template's, at most an hour."`
}

func (s *Server) runCommand(ctx context.Context, c call, in runCommandInput) (runOutput, []sdk.Content, error) {
	if in.Command == "" {
		return runOutput{}, nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "command", "the command is empty; give a line for the shell")
	}
	return s.run(ctx, c, in.SandboxID, execution.Request{
		Command: execution.ShellCommand(in.Command), Stdin: []byte(in.Stdin), Env: in.Env, Cwd: in.Cwd, Timeout: in.Timeout.value(),
	})
}

type invokeInput struct {
	SandboxID    string            `json:"sandbox_id"`
	Code         string            `json:"code" jsonschema:"Source text that defines the function."`
	Handler      string            `json:"handler,omitempty" jsonschema:"Name of the function. Default handler."`
	Event        json.RawMessage   `json:"event,omitempty" jsonschema:"Argument of the function: any JSON value. Its member __timeout sets the timeout."`
	Context      objectData        `json:"context,omitempty" jsonschema:"Fields that override those of the function's context."`
	Language     string            `json:"language,omitempty" jsonschema:"Default python."`
	Dependencies []string          `json:"dependencies,omitempty" jsonschema:"Packages to install first."`
	Env          map[string]string `json:"env,omitempty"`
	Timeout      *duration         `json:"timeout,omitempty" jsonschema:"Seconds, or text such as 10m. Default the template's, at most an hour."`
}

func (s *Server) invokeHandler(ctx context.Context, c call, in invokeInput) (runOutput, []sdk.Content, error) {
	req := execution.Request{
		Code: in.Code, Handler: in.Handler, Event: in.Event, Context: json.RawMessage(in.Context), Language: in.Language,
		Dependencies: in.Dependencies, Env: in.Env, Timeout: in.Timeout.value(),
	}
	if req.Handler == "" {
		req.Handler = "handler"
	}
	if req.Language == "" {
		req.Language = yurt.DefaultLanguage
	}
	return s.run(ctx, c, in.SandboxID, req)
}

// run starts an execution, waits for its end and tells the client how it goes on. A client that cancels
// the call interrupts the execution.
func (s *Server) run(ctx context.Context, c call, sandboxID string, req execution.Request) (runOutput, []sdk.Content, error) {
	started, err := s.config.Executions.Execute(ctx, sandboxID, req)
	if err != nil {
		return runOutput{}, nil, err
	}
	ended, err := s.await(ctx, c, started)
	if err != nil {
		return runOutput{}, nil, err
	}
	ended.Kind = started.Kind // a server elsewhere says no more than the result
	out, err := newRunOutput(ctx, ended)
	if err != nil {
		return runOutput{}, nil, err
	}
	return out, out.content(ended.Result), nil
}

// await returns an execution once it has ended.
func (s *Server) await(ctx context.Context, c call, started yurt.Execution) (yurt.Execution, error) {
	waiting, stop := s.untilDrain(ctx)
	defer stop()
	var (
		ended yurt.Execution
		err   error
	)
	if progress := newProgress(c.request); progress != nil {
		ended = started
		err = s.config.Executions.WatchExecution(waiting, started.SessionID, started.ID, 0, func(event yurt.Event) error {
			if event.Type == yurt.EventEnded {
				ended.Result, ended.State = event.Result, event.Result.State()
			}
			return progress.tell(waiting, event)
		})
	} else {
		ended, err = s.config.Executions.WaitExecution(waiting, started.SessionID, started.ID)
	}
	switch {
	case err != nil && yurt.CodeOf(context.Cause(ctx)) == yurt.CodeUnauthenticated: // the key is in force no longer; executions go on
		return yurt.Execution{}, context.Cause(ctx)
	case err != nil && ctx.Err() != nil:
		s.calls.Go(func() { s.interrupt(ctx, started) }) // in the background, since code may take seconds to end
		return yurt.Execution{}, ctx.Err()
	case err != nil && s.draining.Err() != nil:
		return yurt.Execution{}, errDraining
	case err == nil && ended.Result == nil:
		return yurt.Execution{}, yurt.Errorf(yurt.CodeInternal, "execution %s ended without a result", started.ID)
	}
	return ended, err
}

// interrupt ends an execution whose client has canceled the call.
func (s *Server) interrupt(ctx context.Context, e yurt.Execution) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	_, err := s.config.Executions.CancelExecution(ctx, e.SessionID, e.ID)
	if code := yurt.CodeOf(err); err != nil && code != yurt.CodeExecutionEnded && code != yurt.CodeSessionEnded {
		s.log.WarnContext(ctx, "an execution that an MCP client canceled was not interrupted", "session", e.SessionID, "execution", e.ID, "error", err)
	}
}
