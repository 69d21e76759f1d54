// Package clientlimits bounds the resources that clients of a server hold: connections, the bodies of requests in memory, and the
// time in which they take an answer or send a body.
package clientlimits

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/httpcode"
)

const (
	// Idle is how long a connection may wait for its next request.
	Idle = 2 * time.Minute
	// MaxConnections is how many connections are served at once; further ones wait to be accepted.
	MaxConnections = 4096

	progressLimit = 30 * time.Second // for a client to take, or to send, the next piece of a body
	maxBodies     = 256 << 20        // bytes that the bodies of requests may have in memory, all together
	maxBody       = 64 << 20         // of one: the API refuses larger ones
	streamedBody  = 1 << 20          // of one that is written to a file as it comes
)

// clientLimits ends the connection of a client that stops reading or sending, and refuses bodies that have no room.
type clientLimits struct {
	http.Handler

	bodies *semaphore.Weighted
}

// Listen returns a listener with at most [MaxConnections] connections at once.
func Listen(listener net.Listener) net.Listener {
	return netutil.LimitListener(listener, MaxConnections)
}

// Handler returns the handler with the limits of its clients.
func Handler(handler http.Handler) http.Handler {
	return &clientLimits{Handler: handler, bodies: semaphore.NewWeighted(maxBodies)}
}

// ServeHTTP implements http.Handler.
func (l *clientLimits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := http.NewResponseController(w)
	answer := &patientWriter{ResponseWriter: w, conn: conn}
	defer answer.extend() // for the part that the server writes after the handler
	if r.ContentLength == 0 || r.Body == nil {
		l.Handler.ServeHTTP(answer, r)
		return
	}
	size := bodySize(r)
	if !l.bodies.TryAcquire(size) {
		refuseBody(answer)
		return
	}
	body := &limitedBody{ReadCloser: r.Body, release: sync.OnceFunc(func() { l.bodies.Release(size) })}
	if isStreamed(r) {
		body.conn = conn
	}
	defer body.release()
	r.Body = body
	l.Handler.ServeHTTP(answer, r)
}

// bodySize returns how much memory the body of a request may take. One whose length is not said may be as long as any.
func bodySize(r *http.Request) int64 {
	switch {
	case isStreamed(r):
		return streamedBody
	case r.ContentLength < 0:
		return maxBody
	default:
		return min(r.ContentLength, maxBody)
	}
}

// isStreamed reports whether a body is written to files as it comes.
func isStreamed(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/v1/") && strings.Contains(r.URL.Path, "/files/") && r.Method != http.MethodPatch
}

// refuseBody answers that there is no room for a body.
func refuseBody(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Connection", "close") // the body is not read
	status := httpcode.Of(yurt.CodeOverloaded)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"type":"urn:yurt:error:overloaded","title":"Overloaded","status":`+strconv.Itoa(status)+
		`,"code":"overloaded","detail":"the server has as many bodies of requests as it holds; send it again, or put large data into files"}`)
}

// limitedBody gives its room back once it was read, and ends the wait for a client that sends no more.
type limitedBody struct {
	io.ReadCloser

	conn    *http.ResponseController // nil where the handler has a deadline of its own
	release func()
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.conn != nil {
		_ = b.conn.SetReadDeadline(time.Now().Add(progressLimit)) // a connection without deadlines needs no bound
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.conn != nil { // left in force it would end a long request later
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// patientWriter gives a client some time to take each piece of an answer.
type patientWriter struct {
	http.ResponseWriter

	conn *http.ResponseController
}

func (w *patientWriter) extend() { _ = w.conn.SetWriteDeadline(time.Now().Add(progressLimit)) }

// Write implements http.ResponseWriter.
func (w *patientWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), pieceLimit)]
		w.extend()
		var written int
		written, err = w.ResponseWriter.Write(piece)
		n, p = n+written, p[len(piece):]
	}
	return n, err
}

// pieceLimit is how many bytes a client has to take in that time: a client of 2 KiB a second is the slowest that is served.
const pieceLimit = 64 << 10

// Unwrap lets http.ResponseController reach the connection.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
