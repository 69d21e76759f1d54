// Package clientlimits bounds the resources that clients of a server hold: connections, the bodies of requests in memory, and the
// time in which they take an answer or send a body.
package clientlimits

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/httpcode"
)

const (
	// Idle is how long a connection may wait for its next request.
	Idle = 2 * time.Minute
	// MaxConnections is how many connections are served at once; further ones wait to be accepted.
	MaxConnections = 4096
	// MaxHeader is how many bytes the headers of a request may have: each of them is kept in memory until the request ends.
	MaxHeader = 64 << 10

	progressLimit = 30 * time.Second // for a client to take, or to send, the next piece of a body
	maxBodies     = 256 << 20        // bytes that the bodies of requests may have in memory, all together
	maxBody       = 64 << 20         // of one
	streamedBody  = 1 << 20          // of one that is written to a file as it comes
	maxSmall      = 64 << 20         // bytes that small bodies may have beside the others, so that large ones do not keep them out
	smallBody     = 16 << 10         // of the largest small body
)

// clientLimits ends the connection of a client that stops reading or sending, and refuses bodies that are too large or have no room.
type clientLimits struct {
	http.Handler

	small, large *room
}

// Listen returns a listener with at most [MaxConnections] connections at once.
func Listen(listener net.Listener) net.Listener {
	return netutil.LimitListener(listener, MaxConnections)
}

// Handler returns the handler with the limits of its clients.
func Handler(handler http.Handler) http.Handler {
	return &clientLimits{Handler: handler, small: newRoom(maxSmall), large: newRoom(maxBodies)}
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
	if size > maxBody {
		refuseBody(answer, yurt.CodeBodyTooLarge, "the body is larger than the "+yurt.Size(maxBody).String()+" that are allowed; put large data into files")
		return
	}
	release, ok := l.roomFor(size).take(clientOf(r), size)
	if !ok {
		answer.Header().Set("Retry-After", "1")
		refuseBody(answer, yurt.CodeOverloaded, "the server has as many bodies of requests as it holds, or as many of this client; send it again, or put large data into files")
		return
	}
	defer release()
	body := &limitedBody{ReadCloser: r.Body}
	if isStreamed(r) {
		body.conn = conn
	}
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
		return r.ContentLength
	}
}

func (l *clientLimits) roomFor(size int64) *room {
	if size <= smallBody {
		return l.small
	}
	return l.large
}

// clientOf tells clients apart: by their keys, or by their addresses where they give no key. A client with a made-up key holds room only
// until its key is refused.
func clientOf(r *http.Request) string {
	if key := r.Header.Get("Authorization"); key != "" {
		return key
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// isStreamed reports whether a body is written to files as it comes.
func isStreamed(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/v1/") && strings.Contains(r.URL.Path, "/files/") && r.Method != http.MethodPatch
}

// refuseBody answers that a body is not read.
func refuseBody(w http.ResponseWriter, code yurt.Code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Connection", "close")
	status, title := httpcode.Of(code), strings.ReplaceAll(string(code), "_", " ")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"type":"urn:yurt:error:%s","title":%q,"status":%d,"code":"%[1]s","detail":%[4]q}`, code, strings.ToUpper(title[:1])+title[1:], status, detail)
}

// limitedBody ends the wait for a client that sends no more.
type limitedBody struct {
	io.ReadCloser

	conn *http.ResponseController // nil where the handler has a deadline of its own
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
