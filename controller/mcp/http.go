package mcp

import (
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt/controller/auth"
)

const (
	statelessRevision = "2026-07-28" // the first revision without connections that last
	// headerPeer passes the address of the client to the tools. The server overwrites a client's own value.
	headerPeer = "X-Yurt-Peer"

	maxRequest     = 64 << 20         // bytes of a request: a file at its limit, in base64
	sessionTimeout = time.Hour        // without a request after which a connection is forgotten
	maxSessions    = 10000            // connections of clients of older revisions
	writeLimit     = 30 * time.Second // for a client to take its answer
)

// handler serves clients of both kinds of revision at one address: a request of a stateless revision
// says so in its headers.
type handler struct {
	server    *sdk.Server
	stateless http.Handler
	stateful  http.Handler
}

// NewHandler serves an MCP server over streamable HTTP, in every revision that the library speaks.
// A server with other tools, such as that of the conformance suite, is served in the same way.
func NewHandler(server *sdk.Server) http.Handler {
	get := func(*http.Request) *sdk.Server { return server }
	return &handler{
		server: server,
		stateless: sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
			Stateless: true, MaxRequestBodyBytes: maxRequest,
			PropagateRequestCancellation: true, // a client of these revisions cancels by closing the request
		}),
		stateful: sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
			MaxRequestBodyBytes: maxRequest, SessionTimeout: sessionTimeout,
		}),
	}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header = r.Header.Clone()
	r.Header.Set(headerPeer, auth.AddressOf(r))
	answer := &patientWriter{ResponseWriter: w, conn: http.NewResponseController(w)}
	defer answer.done()
	if r.Header.Get("Mcp-Protocol-Version") >= statelessRevision || r.Header.Get("Mcp-Method") != "" {
		serveJSON(h.stateless, answer, r)
		return
	}
	if r.Method == http.MethodPost && r.Header.Get(headerConnection) == "" && h.full() {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many clients are connected; try again later", http.StatusServiceUnavailable)
		return
	}
	serveJSON(h.stateful, answer, r)
}

// full reports whether there are as many connections as there may be.
func (h *handler) full() bool {
	n := 0
	for range h.server.Sessions() {
		n++
	}
	return n >= maxSessions
}

// patientWriter gives up on a client that does not take its answer.
type patientWriter struct {
	http.ResponseWriter
	conn *http.ResponseController
}

// Unwrap lets http.ResponseController reach the connection.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *patientWriter) Write(data []byte) (int, error) {
	// Where no deadline can be set, as in a test without a connection, there is no client to wait for.
	_ = w.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	return w.ResponseWriter.Write(data)
}

// done takes the deadline back: left in force it would end the connection.
func (w *patientWriter) done() { _ = w.conn.SetWriteDeadline(time.Time{}) }
