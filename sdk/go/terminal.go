package yurtclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/yurtrun/yurt"
)

// TerminalRequest is the program to open a terminal on.
type TerminalRequest struct {
	Command     string // a line for the shell; "" is the shell itself
	Cwd         string
	Size        TerminalSize
	ExecutionID string // attach to this one, in place of starting something
	After       uint64 // with ExecutionID: the [Terminal.Last] of the terminal before, whose output is not shown again; 0 shows all of it
}

// Terminal is a terminal in a session. Next is for one goroutine, the rest for any.
type Terminal struct {
	ExecutionID string
	conn        *websocket.Conn
	last        atomic.Uint64 // number of the last event
}

// terminalMessage is a text message, either way.
type terminalMessage struct {
	Type        string               `json:"type"`
	ExecutionID string               `json:"execution_id,omitempty"`
	ExitCode    int                  `json:"exit_code,omitempty"`
	Error       *yurt.ExecutionError `json:"error,omitempty"`
	Rows        uint16               `json:"rows,omitempty"`
	Cols        uint16               `json:"cols,omitempty"`
	Gap         *yurt.Gap            `json:"gap,omitempty"`
}

// maxTerminalMessage bounds one message of the server, in bytes.
const maxTerminalMessage = 1 << 20

// OpenTerminal starts a shell or a command with a terminal, or attaches to one. The
// caller closes it.
func (c *Client) OpenTerminal(ctx context.Context, sessionID string, req TerminalRequest) (*Terminal, error) {
	query := url.Values{}
	for name, value := range map[string]string{"command": req.Command, "cwd": req.Cwd, "execution_id": req.ExecutionID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, side := range map[string]uint16{"rows": req.Size.Rows, "cols": req.Size.Cols} {
		if side != 0 {
			query.Set(name, strconv.Itoa(int(side)))
		}
	}
	if req.After != 0 {
		query.Set("after", strconv.FormatUint(req.After, 10))
	}
	target := "ws" + strings.TrimPrefix(c.base.String(), "http") + sessionPath(sessionID) + "/pty?" + query.Encode()
	conn, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: authorization(c.key)})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			defer resp.Body.Close()
			return nil, readProblem(resp)
		}
		return nil, yurt.Errorf(yurt.CodeUnavailable, "no terminal could be opened at %s: %w", c.base.Redacted(), err)
	}
	conn.SetReadLimit(maxTerminalMessage)
	t := &Terminal{conn: conn}
	var first terminalMessage
	_, data, err := conn.Read(ctx)
	if err == nil {
		err = json.Unmarshal(data, &first)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening a terminal: %w", err), conn.CloseNow())
	}
	t.ExecutionID = first.ExecutionID
	t.last.Store(max(req.After, 1)) // event 1 says that the execution has started
	return t, nil
}

// Exit is how the program at a terminal ended.
type Exit struct {
	Code  int
	Error *yurt.ExecutionError
}

// Last returns the number of the last event that [Terminal.Next] returned. A terminal whose connection broke goes on after it, see
// [TerminalRequest].
func (t *Terminal) Last() uint64 { return t.last.Load() }

// Next returns the next output to show, or how the program ended. An error about earlier input
// carries a code that is not [yurt.CodeUnavailable]; the terminal can still be used.
func (t *Terminal) Next(ctx context.Context) ([]byte, *Exit, error) {
	kind, data, err := t.conn.Read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, yurt.Errorf(yurt.CodeUnavailable, "the terminal broke off; execution %s goes on: %w", t.ExecutionID, err)
	}
	if kind == websocket.MessageBinary { // there is one for each event
		t.last.Add(1)
		return data, nil, nil
	}
	var message terminalMessage
	if err := json.Unmarshal(data, &message); err != nil {
		return nil, nil, yurt.Errorf(yurt.CodeUnavailable, "the server sent no message of a terminal: %w", err)
	}
	switch message.Type {
	case "exited":
		return nil, &Exit{message.ExitCode, message.Error}, nil
	case "gap":
		t.last.Store(message.Gap.To)
		return nil, nil, nil
	case "failed":
		return nil, nil, yurt.Errorf(yurt.Code(message.Error.Type), "%s", message.Error.Message)
	default:
		return nil, nil, nil
	}
}

// Write types data.
func (t *Terminal) Write(ctx context.Context, data []byte) error {
	return t.conn.Write(ctx, websocket.MessageBinary, data)
}

// Resize gives the terminal another size.
func (t *Terminal) Resize(ctx context.Context, size TerminalSize) error {
	data, err := json.Marshal(terminalMessage{Type: "resize", Rows: size.Rows, Cols: size.Cols})
	if err != nil {
		return err
	}
	return t.conn.Write(ctx, websocket.MessageText, data)
}

// HangUp closes the terminal, whose programs are told so.
func (t *Terminal) HangUp() error { return t.conn.Close(websocket.StatusNormalClosure, "") }

// Close leaves the terminal, whose programs go on.
func (t *Terminal) Close() error { return t.conn.CloseNow() }
