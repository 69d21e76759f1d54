package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

const (
	maxTerminalMessage = 1 << 20 // bytes of one message of a client
	hangUpLimit        = 5 * time.Second
)

// hangUp is the signal to a terminal's programs when its user closes it.
const hangUp yurt.Signal = 1

type terminalInput struct {
	SessionParams
	Command     string `query:"command" doc:"Command line for the shell. Default: an interactive shell."`
	Cwd         string `query:"cwd" doc:"Working directory. Default: /workspace."`
	Rows        uint16 `query:"rows" maximum:"4096" doc:"Rows of the terminal. Default: 24."`
	Cols        uint16 `query:"cols" maximum:"4096" doc:"Columns of the terminal. Default: 80."`
	ExecutionID string `query:"execution_id" doc:"Attach to this execution instead of starting a program."`
	After       uint64 `query:"after" maximum:"9007199254740991" doc:"With execution_id: number of the last event that the client has received; later events are sent again."`
}

// Resolve implements huma.Resolver. It comes before anything is started.
func (in *terminalInput) Resolve(ctx huma.Context) []error {
	if !asksForSocket(ctx) {
		return asDetails(yurt.FieldErrorf(yurt.CodeInvalidArgument, "Upgrade", "a terminal is opened by WebSocket; send a request to upgrade to it"))
	}
	return checkOrigin(ctx, "terminals")
}

// terminalMessage is a text message, either way.
type terminalMessage struct {
	Type        string               `json:"type"`
	ExecutionID string               `json:"execution_id,omitempty"` // of started
	ExitCode    *int                 `json:"exit_code,omitempty"`    // of exited
	Error       *yurt.ExecutionError `json:"error,omitempty"`        // of exited, and of failed
	Rows        uint16               `json:"rows,omitempty"`         // of resize
	Cols        uint16               `json:"cols,omitempty"`
	Signal      json.RawMessage      `json:"signal,omitempty"` // of signal
	Gap         *yurt.Gap            `json:"gap,omitempty"`    // of gap
}

func (a *API) registerTerminal() {
	register(a, huma.Operation{
		OperationID: "open-terminal", Method: http.MethodGet, Path: "/sessions/{id}/pty",
		Summary: "Open a terminal in a session, by WebSocket", Tags: []string{TagExecutions},
		Description: "Starts a shell, or `command`, with a terminal, or attaches to an execution with a terminal. Binary messages have the input and the output, one message per event. " +
			"Text messages are JSON objects. The server sends `{\"type\": \"started\", \"execution_id\"}` first and `{\"type\": \"exited\", \"exit_code\", \"error\"}` last, and `{\"type\": \"gap\", \"gap\"}` in place of lost output; " +
			"the client can send `{\"type\": \"resize\", \"rows\", \"cols\"}` and `{\"type\": \"signal\", \"signal\"}`. " +
			"Closing the connection with status 1000 hangs up. After a broken connection, the client can attach again.",
		Responses: map[string]*huma.Response{"101": {Description: "The terminal."}},
	}, a.openTerminal)
}

func (a *API) openTerminal(ctx context.Context, in *terminalInput) (*huma.StreamResponse, error) {
	e, after, err := a.terminalExecution(ctx, in)
	if err != nil {
		return nil, err
	}
	return a.serveSocket(func(ctx context.Context, conn *websocket.Conn) {
		conn.SetReadLimit(maxTerminalMessage)
		t := &terminalStream{api: a, conn: conn, execution: e}
		t.serve(ctx, after)
	}), nil
}

// terminalExecution starts the execution of the request, or finds it.
func (a *API) terminalExecution(ctx context.Context, in *terminalInput) (yurt.Execution, uint64, error) {
	if in.ExecutionID != "" {
		e, err := a.ctl.Execution(ctx, in.ID, in.ExecutionID)
		return e, in.After, err
	}
	command := execution.ShellCommand(in.Command)
	if in.Command == "" {
		command = execution.ShellCommand("command -v bash >/dev/null && exec bash || exec sh")
	}
	// A person at a terminal takes time, and looks only at the latest output.
	timeout, limit := yurt.Duration(yurt.MaxExecutionTimeout), yurt.Size(yurt.MaxOutputLimit)
	e, err := a.ctl.Execute(ctx, in.ID, execution.Request{
		Command: command, Cwd: in.Cwd, Timeout: &timeout, OutputLimit: &limit,
		Terminal: &yurt.TerminalSize{Rows: in.Rows, Cols: in.Cols},
	})
	return e, 0, err
}

// terminalStream joins a WebSocket and an execution.
type terminalStream struct {
	api       *API
	conn      *websocket.Conn
	execution yurt.Execution
}

// serve returns when the execution has ended, the client has left or the server drains.
func (t *terminalStream) serve(ctx context.Context, after uint64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reading sync.WaitGroup
	defer reading.Wait()
	defer func() { _ = t.conn.CloseNow() }() // ends the reading, if it has not ended yet
	if t.sendText(ctx, terminalMessage{Type: "started", ExecutionID: t.execution.ID}) != nil {
		return
	}
	reading.Go(func() {
		defer cancel()
		t.takeInput(ctx)
	})
	err := t.api.ctl.WatchExecution(ctx, t.execution.SessionID, t.execution.ID, after, func(e yurt.Event) error {
		return t.show(ctx, e)
	})
	closeSocket(ctx, t.conn, err, "attach again with execution_id")
}

func (t *terminalStream) show(ctx context.Context, e yurt.Event) error {
	switch e.Type {
	case yurt.EventStdout, yurt.EventStderr:
		return sendSocket(ctx, t.conn, websocket.MessageBinary, e.Data)
	case yurt.EventGap:
		return t.sendText(ctx, terminalMessage{Type: "gap", Gap: e.Gap})
	case yurt.EventEnded:
		return t.sendText(ctx, terminalMessage{Type: "exited", ExitCode: &e.Result.ExitCode, Error: e.Result.Error})
	default:
		return nil
	}
}

func (t *terminalStream) sendText(ctx context.Context, message terminalMessage) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return sendSocket(ctx, t.conn, websocket.MessageText, data)
}

// takeInput passes on the client's input, until the client leaves.
func (t *terminalStream) takeInput(ctx context.Context) {
	for {
		kind, data, err := t.conn.Read(context.WithoutCancel(ctx)) // a canceller closes the connection, with a reason
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			t.hangUp(ctx)
		}
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			err = t.api.ctl.WriteStdin(ctx, t.execution.SessionID, t.execution.ID, data, false)
		} else {
			err = t.obey(ctx, data)
		}
		switch code := yurt.CodeOf(err); {
		case err == nil || code == yurt.CodeExecutionEnded: // of which it is about to hear
		case ctx.Err() != nil:
			return
		default:
			failure := &yurt.ExecutionError{Type: string(code), Message: err.Error(), Stacktrace: []string{}}
			if t.sendText(ctx, terminalMessage{Type: "failed", Error: failure}) != nil {
				return
			}
		}
	}
}

// hangUp tells the running programs that their user has gone for good.
func (t *terminalStream) hangUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hangUpLimit)
	defer cancel()
	_ = t.api.ctl.SignalExecution(ctx, t.execution.SessionID, t.execution.ID, hangUp) // it may have ended
}

// obey carries out a text message.
func (t *terminalStream) obey(ctx context.Context, data []byte) error {
	var message terminalMessage
	if json.Unmarshal(data, &message) != nil {
		return yurt.Errorf(yurt.CodeMalformedBody, "the message is not a JSON object such as {\"type\": \"resize\", \"rows\": 24, \"cols\": 80}")
	}
	switch message.Type {
	case "resize":
		return t.api.ctl.ResizeExecution(ctx, t.execution.SessionID, t.execution.ID, yurt.TerminalSize{Rows: message.Rows, Cols: message.Cols})
	case "signal":
		var signal param.Signal
		if err := signal.UnmarshalJSON(message.Signal); err != nil {
			return err
		}
		return t.api.ctl.SignalExecution(ctx, t.execution.SessionID, t.execution.ID, yurt.Signal(signal))
	default:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "type", "there is no such message; give \"resize\" or \"signal\"")
	}
}
