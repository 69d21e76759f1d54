package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yurtrun/yurt"
)

const (
	maxPending       = 1 << 20              // bytes that wait for a slow watcher before its source waits too
	streamWriteLimit = 30 * time.Second     // for a watcher to take the data
	joinLimit        = 2 * time.Millisecond // for the first event to go out with the head of the answer, and the last with its end
)

// eventBody is the data of one event on a stream.
type eventBody struct {
	Seq         uint64             `json:"seq" doc:"Number of the event, from 1; also the event's id."`
	Type        yurt.EventType     `json:"type" enum:"started,progress,stdout,stderr,display,response,gap,ended"`
	At          time.Time          `json:"at"`
	ExecutionID string             `json:"execution_id,omitempty" doc:"Of the event started: id of the execution."`
	Execution   *yurt.Execution    `json:"execution,omitempty" doc:"Of the event started: the record of the execution."`
	Phases      []yurt.Phase       `json:"phases,omitempty" nullable:"false" enum:"install,compile" doc:"Of the event started: the steps before the code runs, which can take long without output."`
	Data        *string            `json:"data,omitempty" doc:"Of the events stdout and stderr: output. Of response: a piece of a Lambda function's streamed response. Of progress: output of the package manager, or the reason for which the execution waits."`
	DataBase64  []byte             `json:"data_base64,omitempty" doc:"Replaces data if the output is not UTF-8."`
	Display     *yurt.DisplayEvent `json:"display,omitempty" doc:"Of the event display: a value that code in a context shows."`
	Gap         *yurt.Gap          `json:"gap,omitempty" doc:"Of the event gap: the lost events that it replaces. Its seq is the number of the last of them."`
	Result      *yurt.Result       `json:"result,omitempty" doc:"Of the event ended: the result."`
}

func newEventBody(e yurt.Event, of yurt.Execution) eventBody {
	body := eventBody{Seq: e.Seq, Type: e.Type, At: e.At, Display: e.Display, Gap: e.Gap, Result: e.Result}
	switch {
	case e.Type == yurt.EventStarted:
		of.State, of.Result = yurt.ExecutionRunning, nil
		body.ExecutionID, body.Execution, body.Phases = of.ID, &of, e.Phases
	case e.Type == yurt.EventEnded, e.Type == yurt.EventDisplay, e.Type == yurt.EventGap:
	case utf8.Valid(e.Data):
		text := string(e.Data)
		body.Data = &text
	default:
		body.DataBase64 = e.Data
	}
	return body
}

// wantsEvents reports whether a client asks for a stream of events, by its header Accept.
func wantsEvents(accept string) bool {
	return accept != "" && checkType(accept, []string{typeEventStream}) == nil
}

// eventNumber reads the header Last-Event-ID.
func eventNumber(header string) (uint64, error) {
	number, err := strconv.ParseUint(header, 10, 64)
	if err != nil {
		return 0, yurt.FieldErrorf(yurt.CodeInvalidArgument, "Last-Event-ID", "the value must be the number of an event")
	}
	return number, nil
}

// streaming says how the events of an execution are streamed.
type streaming struct {
	after      uint64 // the number of the last event that the client has
	interrupts bool   // the execution is interrupted when the client leaves
}

// streamEvents answers with the events of an execution.
func (a *API) streamEvents(e yurt.Execution, s streaming, headers ...string) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		for i := 0; i+1 < len(headers); i += 2 {
			ctx.SetHeader(headers[i], headers[i+1])
		}
		left := a.stream(ctx, advice{drain: "the execution goes on", broken: "connect again with Last-Event-ID"}, func(watching context.Context, stream *eventStream) error {
			return a.ctl.WatchExecution(watching, e.SessionID, e.ID, s.after, func(event yurt.Event) error {
				return stream.sendOutput(watching, event, e)
			})
		})
		if left && s.interrupts {
			a.ctl.CallerLeft(e)
		}
	}}
}

// advice tells a client how to go on when its stream ends before the last event.
type advice struct {
	drain  string // the server shuts down
	broken string // another failure
}

// stream answers with the events that follow sends, until that returns. It reports whether the client left before the end.
func (a *API) stream(ctx huma.Context, advice advice, follow func(context.Context, *eventStream) error) (left bool) {
	beginEvents(ctx)
	a.metrics.streams.Inc()
	defer a.metrics.streams.Dec()
	_, w := humago.Unwrap(ctx)
	watching, cancel := a.untilDrain(ctx.Context())
	defer cancel()
	stream := newEventStream(w)
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		if !stream.write(a.config.Heartbeat) {
			cancel()
		}
	}()
	err := follow(watching, stream)
	stream.close(farewell(watching, err, advice))
	<-writing
	return err != nil && (ctx.Context().Err() != nil || stream.failed != nil) && !a.drains()
}

// beginEvents writes the head of a stream.
func beginEvents(ctx huma.Context) {
	ctx.SetHeader("Content-Type", typeEventStream)
	ctx.SetHeader("Cache-Control", "no-store")
	ctx.SetHeader("X-Accel-Buffering", "no") // a proxy must not hold events back
	ctx.SetStatus(http.StatusOK)
}

// farewell is the comment that ends a stream before its last event.
func farewell(ctx context.Context, err error, advice advice) string {
	switch {
	case errors.Is(context.Cause(ctx), errDraining):
		return "the server is shutting down; " + advice.drain
	case yurt.CodeOf(context.Cause(ctx)) == yurt.CodeUnauthenticated:
		return context.Cause(ctx).Error()
	case err != nil:
		return "the stream broke off; " + advice.broken
	default:
		return ""
	}
}

// eventStream writes events to one watcher. Events that come during a write go out with the next one: a quick source
// costs few writes, and a slow one has no delay.
type eventStream struct {
	w    http.ResponseWriter
	conn *http.ResponseController
	wake chan struct{}

	mu      sync.Mutex
	room    *sync.Cond // told when pending was taken or the stream failed
	pending bytes.Buffer
	closed  bool
	last    bool // the last event is queued, or a part of it: no comment may follow
	failed  error
}

func newEventStream(w http.ResponseWriter) *eventStream {
	s := &eventStream{w: w, conn: http.NewResponseController(w), wake: make(chan struct{}, 1)}
	s.room = sync.NewCond(&s.mu)
	return s
}

// send queues an event; it waits while the watcher is far behind.
func (s *eventStream) send(seq uint64, kind string, body any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.await(); err != nil {
		return err
	}
	if kind == string(yurt.EventEnded) {
		s.last = true
		time.AfterFunc(joinLimit, s.notify)
	} else {
		s.notify()
	}
	return writeEvent(&s.pending, seq, kind, body)
}

// await waits for room in the queue. The lock is held.
func (s *eventStream) await() error {
	for s.pending.Len() > maxPending && s.failed == nil {
		s.room.Wait()
	}
	return s.failed
}

func writeEvent(to *bytes.Buffer, seq uint64, kind string, body any) error {
	fmt.Fprintf(to, "id: %d\nevent: %s\ndata: ", seq, kind)
	if err := writeJSON(to, body); err != nil { // ends the line
		return fmt.Errorf("encoding an event: %w", err)
	}
	to.WriteByte('\n')
	return nil
}

// close ends the stream once everything is written, with a comment if there is one.
func (s *eventStream) close(comment string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if comment != "" && !s.last {
		fmt.Fprintf(&s.pending, ": %s\nretry: 1000\n\n", comment)
	}
	s.closed = true
	s.notify()
}

func (s *eventStream) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// write writes until the stream is closed or its watcher is gone, in which case it
// returns false.
func (s *eventStream) write(heartbeat time.Duration) bool {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	head := time.After(joinLimit)
	for {
		select {
		case <-s.wake:
		case <-head:
			_ = s.conn.Flush() // the watcher knows that it is connected
		case <-beat.C:
			s.beat()
		}
		data, closed := s.take()
		if len(data) > 0 {
			if err := s.put(data, closed); err != nil {
				s.fail(err)
				return false
			}
			beat.Reset(heartbeat)
		}
		if closed {
			return true
		}
	}
}

// beat queues a comment, which keeps the connection open, unless the last event is queued.
func (s *eventStream) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last {
		s.pending.WriteString(": still running\n\n")
	}
}

// take empties the queue.
func (s *eventStream) take() (data []byte, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data = bytes.Clone(s.pending.Bytes())
	if s.pending.Reset(); s.pending.Cap() > 4*maxPending {
		s.pending = bytes.Buffer{} // the result or a display in an event that was sent can be large
	}
	s.room.Broadcast()
	return data, s.closed
}

// put writes data. The last of it is flushed by the server, with the end of the answer.
func (s *eventStream) put(data []byte, last bool) error {
	// The error is ignored: a test without a connection has no deadlines.
	_ = s.conn.SetWriteDeadline(time.Now().Add(streamWriteLimit))
	if _, err := s.w.Write(data); err != nil || last {
		return err
	}
	if err := s.conn.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func (s *eventStream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	s.room.Broadcast()
}
