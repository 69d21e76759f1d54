package yurtclient

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// ExecuteRequest is the program to run: Code with its Language, or Command, or Code with a Handler
// and its Event; or a Handler with the Command of the Lambda runtime client that serves it, which
// is kept for the next invocation. Zero fields take the template's defaults.
type ExecuteRequest struct {
	Code     string  `json:"code,omitempty"`
	Language string  `json:"language,omitempty"` // of Code, or of Dependencies; may be left out when the template has one runtime
	Command  Command `json:"command,omitzero"`
	Handler  string  `json:"handler,omitempty"` // name of the function in Code
	// Plain has Code run as it is. Code that only defines things, a function "handler" among
	// them, is taken for a handler otherwise, unless it has a Context.
	Plain   bool            `json:"-"`
	Event   json.RawMessage `json:"event,omitempty"`   // the handler's argument; it implies a handler
	Context json.RawMessage `json:"context,omitempty"` // object whose fields override the handler's context, or see [InContext]

	Files Files    `json:"files,omitempty"` // written to the working directory first, where they stay
	Entry string   `json:"entry,omitempty"` // file to run in place of Code
	Args  []string `json:"args,omitempty"`  // of Code or Entry

	// Dependencies are packages to install first, as the package manager of the language
	// writes them: "numpy==2.1.0". The next time they are there already. A Handler with a
	// Command has them too, such as its runtime client.
	Dependencies []string `json:"dependencies,omitempty"`

	Stdin       string            `json:"stdin,omitempty"`
	StdinOpen   bool              `json:"stdin_open,omitempty"` // more may be written to it, see [Client.WriteStdin]
	TTY         *TerminalSize     `json:"tty,omitempty"`        // stdin, which is open, stdout and stderr are a terminal
	Env         map[string]string `json:"env,omitempty"`
	Cwd         string            `json:"cwd,omitempty"` // default /workspace; relative paths begin there
	Timeout     yurt.Duration     `json:"timeout,omitempty"`
	OutputLimit yurt.Size         `json:"output_limit,omitempty"` // of each stream, in bytes

	// OnDisconnect says how the execution goes on when the connection of Execute or ExecuteStream
	// ends first. Start refuses [yurt.DisconnectInterrupt].
	OnDisconnect yurt.OnDisconnect `json:"on_disconnect,omitempty"`
}

// Files are the files of a project, or those that a session begins with, by path relative to
// the working directory or to the workspace.
type Files map[string][]byte

// MarshalJSON writes text as it is and anything else in base64.
func (f Files) MarshalJSON() ([]byte, error) {
	members := make(map[string]any, len(f))
	for path, data := range f {
		if utf8.Valid(data) {
			members[path] = string(data)
		} else {
			members[path] = map[string][]byte{"base64": data}
		}
	}
	return json.Marshal(members)
}

// InContext is the [ExecuteRequest.Context] of code that shares its variables, imports
// and working directory with the other executions in the context of that name. An empty
// name means a fresh interpreter.
func InContext(name string) json.RawMessage {
	data, err := json.Marshal(name)
	if err != nil { // of a string, never
		return json.RawMessage(`""`)
	}
	return data
}

// Command is a program with its arguments, or a line for the shell of the
// sandbox. Argv wins when both are set.
type Command struct {
	Argv  []string
	Shell string
}

// IsZero reports whether there is no command.
func (c Command) IsZero() bool { return len(c.Argv) == 0 && c.Shell == "" }

// MarshalJSON writes an array for Argv and a string for Shell.
func (c Command) MarshalJSON() ([]byte, error) {
	if len(c.Argv) > 0 {
		return json.Marshal(c.Argv)
	}
	return json.Marshal(c.Shell)
}

// executeBody is the request as it is sent.
type executeBody struct {
	ExecuteRequest
	Handler any  `json:"handler,omitempty"` // the request's, or null where it is plain
	Async   bool `json:"async,omitempty"`
	Stream  bool `json:"stream,omitempty"`
}

func newExecuteBody(req ExecuteRequest) executeBody {
	body := executeBody{ExecuteRequest: req}
	switch {
	case req.Handler != "":
		body.Handler = req.Handler
	case req.Plain:
		body.Handler = json.RawMessage("null")
	}
	return body
}

// resultBody is the answer of a finished execution: the result's fields beside
// those of the record.
type resultBody struct {
	ID        string              `json:"execution_id"`
	SessionID string              `json:"session_id"`
	Kind      yurt.ExecutionKind  `json:"kind"`
	Language  string              `json:"language"`
	State     yurt.ExecutionState `json:"state"`
	CreatedAt time.Time           `json:"created_at"`
	yurt.Result
}

func (b resultBody) execution() yurt.Execution {
	return yurt.Execution{
		ID: b.ID, SessionID: b.SessionID, Kind: b.Kind, Language: b.Language,
		State: b.State, CreatedAt: b.CreatedAt, Result: &b.Result,
	}
}

// Execute runs req in the session and returns once it has ended, with its result.
// That the code failed is not an error: see [yurt.Result]. When ctx ends first the
// execution goes on.
func (c *Client) Execute(ctx context.Context, sessionID string, req ExecuteRequest) (yurt.Execution, error) {
	what, err := postJSON(sessionPath(sessionID)+"/execute", newExecuteBody(req))
	if err != nil {
		return yurt.Execution{}, err
	}
	var body resultBody
	if err := c.roundTrip(ctx, what, &body); err != nil {
		return yurt.Execution{}, err
	}
	return body.execution(), nil
}

// Start begins req in the session and returns its record at once.
func (c *Client) Start(ctx context.Context, sessionID string, req ExecuteRequest) (yurt.Execution, error) {
	sent := newExecuteBody(req)
	sent.Async = true
	what, err := postJSON(sessionPath(sessionID)+"/execute", sent)
	if err != nil {
		return yurt.Execution{}, err
	}
	var e yurt.Execution
	err = c.roundTrip(ctx, what, &e)
	return e, err
}

// Execution returns the record of one execution, or of the latest one when
// executionID is empty.
func (c *Client) Execution(ctx context.Context, sessionID, executionID string) (yurt.Execution, error) {
	path := sessionPath(sessionID) + "/status" // of the latest
	if executionID != "" {
		path = executionPath(sessionID, executionID)
	}
	var e yurt.Execution
	err := c.get(ctx, path, nil, &e)
	return e, err
}

// Result returns an execution that has ended with its result; the latest one when
// executionID is empty. While it runs the error is [yurt.CodeExecutionRunning].
func (c *Client) Result(ctx context.Context, sessionID, executionID string) (yurt.Execution, error) {
	var body resultBody
	query := queryOf(map[string]string{"execution_id": executionID})
	if err := c.get(ctx, sessionPath(sessionID)+"/result", query, &body); err != nil {
		return yurt.Execution{}, err
	}
	return body.execution(), nil
}

// ExecutionPage is one page of a session's executions, newest first.
type ExecutionPage struct {
	Executions []yurt.Execution `json:"executions"`  // without their results
	NextCursor string           `json:"next_cursor"` // empty on the last page
}

// ExecutionFilter narrows and pages a list of executions. Zero fields do not filter.
type ExecutionFilter struct {
	State    yurt.ExecutionState
	Kind     yurt.ExecutionKind
	Language string // as the execution names it

	CreatedAfter  time.Time // or at that time
	CreatedBefore time.Time

	Limit  int    // executions a page; default 50, at most 500
	Cursor string // [ExecutionPage.NextCursor] of the page before
}

func (f ExecutionFilter) query() url.Values {
	q := queryOf(map[string]string{"state": string(f.State), "kind": string(f.Kind), "language": f.Language, "cursor": f.Cursor})
	setTimes(q, map[string]time.Time{"created_after": f.CreatedAfter, "created_before": f.CreatedBefore})
	setLimit(q, f.Limit)
	return q
}

// Executions lists a page of the executions of a session.
func (c *Client) Executions(ctx context.Context, sessionID string, filter ExecutionFilter) (ExecutionPage, error) {
	var page ExecutionPage
	err := c.get(ctx, sessionPath(sessionID)+"/executions", filter.query(), &page)
	return page, err
}

// EachExecution yields the executions of a session that match, newest first, and asks for each page when its first execution is
// wanted. An error ends it.
func EachExecution(ctx context.Context, client *Client, sessionID string, filter ExecutionFilter) iter.Seq2[yurt.Execution, error] {
	return pages[yurt.Execution](ctx, client, sessionPath(sessionID)+"/executions", "executions", filter.query())
}
