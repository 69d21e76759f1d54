package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/internal/outputjson"
)

// asksForSocket reports whether a request asks for a WebSocket.
func asksForSocket(ctx huma.Context) bool {
	return strings.EqualFold(ctx.Header("Upgrade"), "websocket")
}

// checkOrigin refuses WebSockets to pages of other origins, for which a browser opens them all the same. The argument
// what names the resource in the error.
func checkOrigin(ctx huma.Context, what string) []error {
	origin := ctx.Header("Origin")
	if origin == "" || holdsToken(ctx.Context()) {
		return nil
	}
	page, err := url.Parse(origin)
	if err != nil || !strings.EqualFold(page.Host, ctx.Host()) {
		return asDetails(yurt.FieldErrorf(yurt.CodeForbidden, "Origin", "this server opens no %s for pages of other origins", what))
	}
	return nil
}

// holdsToken reports whether a request has a session token. A page has one only if it was given one, and its browser adds none, so
// that pages of every origin may use theirs.
func holdsToken(ctx context.Context) bool {
	caller, known := access.From(ctx)
	return known && caller.Bound()
}

// serveSocket answers with a WebSocket. The context that serve gets ends when the server drains.
func (a *API) serveSocket(serve func(context.Context, *websocket.Conn)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		options := &websocket.AcceptOptions{Subprotocols: []string{auth.SocketProtocol}, InsecureSkipVerify: holdsToken(ctx.Context())}
		conn, err := websocket.Accept(w, r, options) // which answers itself when it cannot
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		a.metrics.streams.Inc()
		defer a.metrics.streams.Dec()
		watching, cancel := a.untilDrain(ctx.Context())
		defer cancel()
		serve(watching, conn)
	}}
}

// sendSocket sends a message to a client that takes it in time. A drain in the middle would
// break the connection, which is to be closed with a word.
func sendSocket(ctx context.Context, conn *websocket.Conn, kind websocket.MessageType, data []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), streamWriteLimit)
	defer cancel()
	return conn.Write(ctx, kind, data)
}

// sendEvent sends an event as a message, large output piece by piece.
func sendEvent(ctx context.Context, conn *websocket.Conn, event yurt.Event, of yurt.Execution) error {
	body := newEventBody(event, of)
	marked, output := outputjson.Mark(event.Result)
	body.Result = marked
	var encoded bytes.Buffer
	if err := writeJSON(&encoded, body); err != nil {
		return err
	}
	if marked == event.Result {
		return sendSocket(ctx, conn, websocket.MessageText, encoded.Bytes())
	}
	writer, err := conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	return errors.Join(output.Write(ctx, writer, encoded.Bytes()), writer.Close())
}

// closeSocket closes the connection with a reason: err is the error that ended the watch of an execution. The argument
// again tells a client whose stream broke off how to go on.
func closeSocket(ctx context.Context, conn *websocket.Conn, err error, again string) {
	status, reason := websocket.StatusNormalClosure, ""
	switch {
	case errors.Is(context.Cause(ctx), errDraining):
		status, reason = websocket.StatusGoingAway, "the server is shutting down; the execution goes on"
	case yurt.CodeOf(context.Cause(ctx)) == yurt.CodeUnauthenticated:
		status, reason = websocket.StatusPolicyViolation, context.Cause(ctx).Error()
	case err != nil:
		status, reason = websocket.StatusInternalError, "the stream broke off; "+again
	}
	_ = conn.Close(status, reason) // the client may have left
}

// socketEvents answers with the events of an execution after a number, each a message.
func (a *API) socketEvents(e yurt.Execution, after uint64) *huma.StreamResponse {
	return a.serveSocket(func(ctx context.Context, conn *websocket.Conn) {
		// A watcher sends no messages, and may leave. Its connection outlives ctx, so that a drain can still be reported.
		left := conn.CloseRead(context.WithoutCancel(ctx))
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(left, cancel)()
		defer a.pingSocket(ctx, conn)()
		err := a.ctl.WatchExecution(ctx, e.SessionID, e.ID, after, func(event yurt.Event) error {
			return sendEvent(ctx, conn, event, e)
		})
		closeSocket(ctx, conn, err, "connect again with after")
	})
}

// pingSocket keeps an idle connection open, until the function that it returns is called.
func (a *API) pingSocket(ctx context.Context, conn *websocket.Conn) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		beat := time.NewTicker(a.config.Heartbeat)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), streamWriteLimit) // as sendSocket does
			err := conn.Ping(limited)
			cancel()
			if err != nil {
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
