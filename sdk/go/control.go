package yurtclient

import (
	"context"
	"net/http"

	"github.com/yurtrun/yurt"
)

// TerminalSize is the size of a terminal, in characters. Zero sides are 24 rows and
// 80 columns.
type TerminalSize struct {
	Rows uint16 `json:"rows,omitempty"`
	Cols uint16 `json:"cols,omitempty"`
}

func executionPath(sessionID, executionID string) string {
	return sessionPath(sessionID) + "/executions/" + segment(executionID)
}

// WriteStdin gives an execution that was started with StdinOpen or TTY data to read,
// and after it the end of its stdin if eof is set. It returns once the data is taken.
func (c *Client) WriteStdin(ctx context.Context, sessionID, executionID string, data []byte, eof bool) error {
	return c.control(ctx, sessionID, executionID, "/stdin", struct {
		Data []byte `json:"data_base64,omitempty"`
		EOF  bool   `json:"eof,omitempty"`
	}{data, eof})
}

// Signal sends a signal to the first process of an execution and its process group;
// [yurt.SignalKill] ends every process of the execution.
func (c *Client) Signal(ctx context.Context, sessionID, executionID string, signal yurt.Signal) error {
	return c.control(ctx, sessionID, executionID, "/signal", map[string]yurt.Signal{"signal": signal})
}

// CancelExecution interrupts an execution, kills it if that does not end it within five seconds,
// and returns it with its result once it has ended. One that has ended before is a
// [yurt.CodeExecutionEnded] error.
func (c *Client) CancelExecution(ctx context.Context, sessionID, executionID string) (yurt.Execution, error) {
	var e yurt.Execution
	err := c.roundTrip(ctx, call{method: http.MethodDelete, path: executionPath(sessionID, executionID)}, &e)
	if removed(err) {
		return c.Execution(ctx, sessionID, executionID)
	}
	return e, err
}

// Resize gives the terminal of an execution another size.
func (c *Client) Resize(ctx context.Context, sessionID, executionID string, size TerminalSize) error {
	return c.control(ctx, sessionID, executionID, "/resize", size)
}

func (c *Client) control(ctx context.Context, sessionID, executionID, verb string, body any) error {
	what, err := postJSON(executionPath(sessionID, executionID)+verb, body)
	if err != nil {
		return err
	}
	return c.roundTrip(ctx, what, nil)
}
