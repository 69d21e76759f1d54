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
)

// asksForSocket reports whether a request asks for a WebSocket.
func asksForSocket(ctx huma.Context) bool {
	return strings.EqualFold(ctx.Header("Upgrade"), "websocket")
}

// checkOrigin refuses WebSockets to pages of other origins, for which a browser opens
// them all the same. what is what they would get.
func checkOrigin(ctx huma.Context, what string) []error {
	origin := ctx.Header("Origin")
	if origin == "" {
		return nil
	}
	page, err := url.Parse(origin)
	if err != nil || !strings.EqualFold(page.Host, ctx.Host()) {
		return asDetails(yurt.FieldErrorf(yurt.CodeForbidden, "Origin", "this server opens no %s for pages of other origins", what))
	}
	return nil
}

// serveSocket answers with a WebSocket. The context that serve gets ends when the server drains.
func (a *API) serveSocket(serve func(context.Context, *websocket.Conn)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		conn, err := websocket.Accept(w, r, nil) // which answers itself when it cannot
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

// closeSocket says why nothing more comes: err is what ended the watch of an execution.
// Whose stream broke off is told to do again.
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
		// A watcher has nothing to say, and may leave. Its connection outlives a drain, of which it is told.
		left := conn.CloseRead(context.WithoutCancel(ctx))
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(left, cancel)()
		defer a.pingSocket(ctx, conn)()
		err := a.ctl.WatchExecution(ctx, e.SessionID, e.ID, after, func(event yurt.Event) error {
			var message bytes.Buffer
			if err := writeJSON(&message, newEventBody(event, e)); err != nil {
				return err
			}
			return sendSocket(ctx, conn, websocket.MessageText, message.Bytes())
		})
		closeSocket(ctx, conn, err, "connect again with after")
	})
}

// pingSocket keeps a connection open on which nothing happens, until the function that it
// returns is called.
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
