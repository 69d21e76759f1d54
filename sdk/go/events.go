package yurtclient

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"path"
	"time"

	"github.com/yurtrun/yurt"
)

// Execution is an execution in a sandbox. Its events are for one goroutine, the rest is for any.
type Execution struct {
	ID string

	client  *Client
	session string
	body    io.ReadCloser // the connection that began with the execution; nil once it is used
	last    uint64        // number of the last event
	result  *yurt.Result
}

// How long a caller that leaves waits for the execution to be known, and then for its end.
const (
	leaveGrace  = 5 * time.Second
	cancelGrace = 10 * time.Second
)

// stream starts an execution. When ctx ends before the server has named the execution, it is
// given a moment to do so, and the execution is cancelled.
func (c *Client) stream(ctx context.Context, session string, req ExecuteRequest) (*Execution, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sent := newExecuteBody(req)
	sent.Stream = true
	what, err := postJSON(sessionPath(session)+"/execute", sent)
	if err != nil {
		return nil, err
	}
	what.header.Set("Accept", typeEventStream)
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(leaveGrace, cancel) })
	resp, err := c.send(sending, what)
	if err != nil {
		stop()
		cancel()
		return nil, cmp.Or(ctx.Err(), err)
	}
	e := &Execution{ID: path.Base(resp.Header.Get("Location")), client: c, session: session, body: cancelling{resp.Body, cancel}}
	if !stop() {
		return nil, e.abandon(ctx)
	}
	return e, nil
}

// cancelling is a body whose request's context ends when it is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c cancelling) Close() error {
	c.cancel()
	return c.ReadCloser.Close()
}

// Events yields the events of the execution, in order, until the ended one. A connection that breaks is made again and
// goes on after the last event. When the loop is left or ctx ends the execution goes on, and so may another loop.
func (e *Execution) Events(ctx context.Context) iter.Seq2[yurt.Event, error] {
	return pushed(func(each func(yurt.Event) error) error {
		if e.result != nil {
			return nil
		}
		w := &watch{last: e.last, each: func(event yurt.Event) error {
			e.last = event.Seq
			if event.Type == yurt.EventEnded {
				e.result = event.Result
			}
			return each(event)
		}}
		if body := e.body; body != nil {
			e.body = nil
			stop := context.AfterFunc(ctx, func() { _ = body.Close() })
			err := w.read(ctx, body)
			stop()
			if err != nil || w.ended() {
				return err
			}
		}
		return e.client.follow(ctx, e.session, e.ID, w)
	})
}

// Wait waits for the end and returns the result. When ctx ends first the execution is cancelled.
func (e *Execution) Wait(ctx context.Context) (*yurt.Result, error) {
	for _, err := range e.Events(ctx) {
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return nil, e.abandon(ctx)
		}
		return nil, err
	}
	return e.result, nil
}

// abandon cancels the execution of a caller that has left, and returns why it left.
func (e *Execution) abandon(ctx context.Context) error {
	reason := ctx.Err()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
	defer cancel()
	if e.body != nil {
		_ = e.body.Close() // the reason for leaving matters more, here and below
	}
	_, _ = e.client.CancelExecution(ctx, e.session, e.ID)
	return reason
}

// Cancel interrupts the execution, kills it if that does not end it within five seconds, and waits for its end. One that has
// ended is no error.
func (e *Execution) Cancel(ctx context.Context) error {
	_, err := e.client.CancelExecution(ctx, e.session, e.ID)
	if yurt.CodeOf(err) == yurt.CodeExecutionEnded {
		return nil
	}
	return err
}

// WriteStdin gives an execution that was started with StdinOpen data to read, see [Client.WriteStdin].
func (e *Execution) WriteStdin(ctx context.Context, data []byte, eof bool) error {
	return e.client.WriteStdin(ctx, e.session, e.ID, data, eof)
}

// Signal sends a signal to the execution, see [Client.Signal].
func (e *Execution) Signal(ctx context.Context, signal yurt.Signal) error {
	return e.client.Signal(ctx, e.session, e.ID, signal)
}

// Resize gives the terminal of the execution another size, see [Client.Resize].
func (e *Execution) Resize(ctx context.Context, size TerminalSize) error {
	return e.client.Resize(ctx, e.session, e.ID, size)
}

// Record returns the record of the execution.
func (e *Execution) Record(ctx context.Context) (yurt.Execution, error) {
	return e.client.Execution(ctx, e.session, e.ID)
}

// Close leaves the execution's connection, if no loop over its events has used it. The execution goes on.
func (e *Execution) Close() error {
	if e.body == nil {
		return nil
	}
	body := e.body
	e.body = nil
	return body.Close()
}

// requestID is the cause of an error that a server answered with.
type requestID string

func (requestID) Error() string { return "" }

// RequestID returns the name of the request in the server's log that an error is the answer to, or "".
func RequestID(err error) string {
	var id requestID
	errors.As(err, &id)
	return string(id)
}
