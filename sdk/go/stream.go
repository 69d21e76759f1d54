package yurtclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	typeEventStream = "text/event-stream"
	maxStreamLine   = 256 << 20        // an ended event carries the whole result
	quietLimit      = 45 * time.Second // without a heartbeat, which comes every 15 seconds, before a connection is dead
)

// ExecuteStream runs req in the session and calls each with every event, in order: output, and the
// response that a Lambda function streams, as it comes. It returns the execution with its result
// once that has ended. A connection that breaks is made again and goes on after the last event.
// When ctx ends or each returns an error, the watch stops and the execution goes on.
func (c *Client) ExecuteStream(ctx context.Context, sessionID string, req ExecuteRequest, each func(yurt.Event) error) (yurt.Execution, error) {
	sent := newExecuteBody(req)
	sent.Stream = true
	what, err := postJSON(sessionPath(sessionID)+"/execute", sent)
	if err != nil {
		return yurt.Execution{}, err
	}
	what.header.Set("Accept", typeEventStream)
	resp, err := c.send(ctx, what)
	if err != nil {
		return yurt.Execution{}, err
	}
	executionID := path.Base(resp.Header.Get("Location"))
	w := &watch{each: each}
	err = w.read(ctx, resp.Body)
	if err == nil && !w.ended() {
		err = c.follow(ctx, sessionID, executionID, w)
	}
	if err != nil {
		return yurt.Execution{ID: executionID, SessionID: sessionID}, err
	}
	if w.execution == nil { // an older server does not tell
		execution, err := c.Execution(ctx, sessionID, executionID)
		w.execution = &execution
		if err != nil {
			return yurt.Execution{ID: executionID, SessionID: sessionID}, err
		}
	}
	w.execution.State, w.execution.Result = w.result.State(), w.result
	return *w.execution, nil
}

// WatchExecution calls each with every event after seq, in order, until the ended
// event. In place of events that are not kept any more is one of type [yurt.EventGap]. It reconnects as [Client.ExecuteStream] does.
func (c *Client) WatchExecution(ctx context.Context, sessionID, executionID string, after uint64, each func(yurt.Event) error) error {
	return c.follow(ctx, sessionID, executionID, &watch{each: each, last: after})
}

// follow connects until w has seen the ended event.
func (c *Client) follow(ctx context.Context, sessionID, executionID string, w *watch) error {
	return resume(ctx, c, sessionPath(sessionID)+"/executions/"+segment(executionID)+"/events", w,
		"the stream of execution "+executionID+" broke and could not be resumed; the execution goes on, ask for its result")
}

// resumed is a stream of numbered events across connections.
type resumed interface {
	seen() uint64 // number of the last event that was handed on
	ended() bool  // there is no further event
	// read hands the events of one connection on. It returns nil when the connection ended for a reason other than ctx or an error of
	// the events' receiver.
	read(ctx context.Context, body io.ReadCloser) error
}

// resume connects, and connects again after the last event, until the stream has ended. broken says that it could not.
func resume(ctx context.Context, c *Client, path string, w resumed, broken string) error {
	what := call{method: http.MethodGet, path: path, header: http.Header{"Accept": {typeEventStream}}}
	for failing := newOutage(); ; {
		before := w.seen()
		what.header.Set("Last-Event-ID", strconv.FormatUint(before, 10))
		resp, err := c.send(ctx, what)
		if err == nil && resp.StatusCode == http.StatusNoContent { // there is no event after that one
			return resp.Body.Close()
		}
		if err == nil {
			failing.connected()
			err = w.read(ctx, resp.Body)
			failing.broke()
		}
		if w.ended() || (err != nil && yurt.CodeOf(err) != yurt.CodeUnavailable) {
			return err
		}
		if w.seen() > before {
			failing = newOutage()
		}
		if failing.over() {
			return yurt.Errorf(yurt.CodeUnavailable, "%s", broken)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(failing.pause()):
		}
	}
}

// watch is the state of one stream across connections.
type watch struct {
	each      func(yurt.Event) error
	last      uint64          // sequence number of the last event that each saw
	execution *yurt.Execution // of the started event; nil before it
	result    *yurt.Result
}

func (w *watch) ended() bool  { return w.result != nil }
func (w *watch) seen() uint64 { return w.last }

// read hands the events of one connection on. It returns nil when the connection ended for a reason
// other than ctx or an error of each.
func (w *watch) read(ctx context.Context, body io.ReadCloser) error {
	return readEvents(ctx, body, func(data []byte) (bool, error) {
		err := w.dispatch(data)
		return w.ended(), err
	})
}

// readEvents calls each with the data of every server-sent event until it reports that it was the
// last. It returns nil when the connection ended for a reason other than ctx or an error of each.
func readEvents(ctx context.Context, body io.ReadCloser, each func([]byte) (last bool, err error)) error {
	defer body.Close()
	quiet := time.AfterFunc(quietLimit, func() { _ = body.Close() }) // a read of it fails then
	defer quiet.Stop()
	reader := bufio.NewReader(body)
	var data []byte
	for {
		line, err := readLine(reader)
		quiet.Reset(quietLimit)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errLineTooLong):
			return err
		case err != nil:
			return nil // broken off: the caller decides whether to resume
		}
		if len(line) == 0 && len(data) > 0 { // an event without data is a heartbeat
			if last, err := each(data); err != nil || last {
				return err
			}
			data = nil
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
		}
	}
}

var errLineTooLong = errors.New("a line of the stream is too long")

// readLine returns the next line without its end. It bounds the memory that a server can make the
// client use.
func readLine(reader *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxStreamLine {
			return nil, errLineTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// eventBody is an event as the stream carries it.
type eventBody struct {
	Seq        uint64             `json:"seq"`
	Type       yurt.EventType     `json:"type"`
	At         time.Time          `json:"at"`
	Data       *string            `json:"data"`
	DataBase64 []byte             `json:"data_base64"` // output that is not UTF-8
	Display    *yurt.DisplayEvent `json:"display"`
	Gap        *yurt.Gap          `json:"gap"`
	Execution  *yurt.Execution    `json:"execution"`
	Phases     []yurt.Phase       `json:"phases"`
	Result     *yurt.Result       `json:"result"`
}

func (w *watch) dispatch(data []byte) error {
	var body eventBody
	if err := json.NewDecoder(strings.NewReader(string(data))).Decode(&body); err != nil {
		return fmt.Errorf("reading an event: %w", err)
	}
	if body.Seq <= w.last && body.Type != yurt.EventEnded { // a last one that was never there is passed over
		return nil
	}
	event := yurt.Event{Seq: body.Seq, Type: body.Type, At: body.At, Data: body.DataBase64, Display: body.Display, Result: body.Result, Gap: body.Gap, Execution: body.Execution, Phases: body.Phases}
	if body.Data != nil {
		event.Data = []byte(*body.Data)
	}
	if event.Execution != nil {
		execution := *event.Execution
		w.execution = &execution
	}
	if err := w.each(event); err != nil {
		return err
	}
	w.last = event.Seq
	if event.Type == yurt.EventEnded {
		if w.result = event.Result; w.result == nil {
			return errors.New("reading an event: the ended event holds no result")
		}
	}
	return nil
}
