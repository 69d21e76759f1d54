package httpapi

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/tracing"
)

const (
	headerRequestID = "X-Request-Id"
	maxRequestID    = 128
	routeUnknown    = "unknown"
	// slowRequest is how long an answer may take to begin before the request is logged as slow. A session
	// whose sandbox a node makes on demand takes about 0.1 s, so an operation that takes ten times as long
	// waits for something that an operator may want to know of.
	slowRequest = time.Second
)

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	id := requestIDOf(r)
	ctx, span := tracing.Enter(tracing.WithRequest(r.Context(), id), a.config.Tracer, r.Method, r.Header.Get)
	r = r.WithContext(ctx)
	w.Header().Set(headerRequestID, id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	answer := &response{ResponseWriter: w, status: http.StatusOK}
	defer func() { a.answered(r, answer, begin, span) }()
	defer a.recoverPanic(answer, r)
	if err := a.guard(r); err != nil {
		writeProblem(answer, a.problemOf(r.Context(), err))
		return
	}
	keepDotSegments(r.URL)
	identified, done, err := a.config.Keys.Enter(r)
	if err != nil {
		writeProblem(answer, a.problemOf(r.Context(), err))
		return
	}
	defer done()
	r = identified
	a.mux.ServeHTTP(answer, r)
}

// answered logs and counts a request.
func (a *API) answered(r *http.Request, answer *response, begin time.Time, span trace.Span) {
	took := time.Since(begin)
	method, route, known := strings.Cut(r.Pattern, " ")
	if !known {
		method, route = routeUnknown, routeUnknown
	}
	a.metrics.answered(method, route, answer.status, took)
	tracing.Answer(span, requestID(r.Context()), method, route, answer.status)
	waited := took
	if answer.begun {
		waited = answer.at.Sub(begin)
	}
	a.log.Log(r.Context(), requestLevel(route, answer.status, waited), "request", "request_id", requestID(r.Context()), "method", r.Method, "path", r.URL.Path,
		"status", answer.status, "bytes", answer.bytes, "duration_ms", float64(took)/float64(time.Millisecond), "remote", r.RemoteAddr)
}

// requestLevel returns the level that a request is logged at: a healthy server logs no request above debug. waited is
// the time until the answer began, so that a stream or a download that lasts is not slow.
func requestLevel(route string, status int, waited time.Duration) slog.Level {
	switch {
	case status >= http.StatusInternalServerError && status != http.StatusNotImplemented: // 501 is about the request
		return slog.LevelWarn
	case waited >= slowRequest && !waitsForCode(route):
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// waitsForCode reports whether an operation takes as long as the code that it runs.
func waitsForCode(route string) bool {
	return strings.HasSuffix(route, "/execute") || strings.HasSuffix(route, "/mcp") || strings.HasPrefix(route, "/workspace/se/execute")
}

// recoverPanic answers for an operation that panicked, if it has not answered yet.
func (a *API) recoverPanic(answer *response, r *http.Request) {
	fault := recover()
	if fault == nil {
		return
	}
	if fault == http.ErrAbortHandler { //nolint:errorlint // net/http compares the value itself
		panic(fault)
	}
	a.log.ErrorContext(r.Context(), "request panicked", "request_id", requestID(r.Context()), "panic", fault, "stack", string(debug.Stack()))
	if answer.begun {
		panic(http.ErrAbortHandler) // a client must not take a part for the whole
	}
	writeProblem(answer, newProblem(r.Context(), yurt.CodeInternal, "", "the server failed; its log says more under the request id"))
}

// guard refuses requests that a server without keys must not answer. A web page can make its reader's browser send
// requests to this machine: those carry the page's origin, or, when the page's own name was made to resolve to this
// machine, a foreign Host.
func (a *API) guard(r *http.Request) error {
	if !a.config.LoopbackOnly {
		return nil
	}
	if !isLoopback(r.Host) {
		return yurt.FieldErrorf(yurt.CodeForbidden, "Host", "this server answers on this machine alone; ask for it as localhost or 127.0.0.1")
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return yurt.FieldErrorf(yurt.CodeForbidden, "Origin", "this server takes no requests from pages of other origins")
	}
	return nil
}

// isLoopback reports whether a Host header names this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && address.IsLoopback()
}

// keepDotSegments escapes the path of a file, so that the mux neither cleans it nor
// redirects: whether it leads out of the workspace is for the controller to say.
func keepDotSegments(u *url.URL) {
	escaped := u.EscapedPath()
	rest, ok := strings.CutPrefix(escaped, prefix+"/sessions/")
	if !ok {
		return
	}
	id, file, ok := strings.Cut(rest, "/files/")
	if !ok || strings.Contains(id, "/") {
		return
	}
	file = strings.ReplaceAll(file, "/", "%2F")
	if file == "." || file == ".." {
		file = strings.ReplaceAll(file, ".", "%2E")
	}
	u.RawPath = prefix + "/sessions/" + id + "/files/" + file
}

// requestID returns the id of the request that ctx belongs to.
func requestID(ctx context.Context) string { return tracing.Request(ctx) }

// requestIDOf takes the id that a client or proxy gave, if it is fit for a log.
func requestIDOf(r *http.Request) string {
	id := r.Header.Get(headerRequestID)
	if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, notIDRune) {
		return "req_" + strings.ToLower(rand.Text())
	}
	return id
}

func notIDRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
}

// response notes the status and the size of an answer.
type response struct {
	http.ResponseWriter
	status int
	bytes  int64
	begun  bool
	at     time.Time // when it began
}

func (w *response) begin() {
	if !w.begun {
		w.begun, w.at = true, time.Now()
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if !w.begun {
		w.status = status
	}
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *response) Write(data []byte) (int, error) {
	w.begin()
	n, err := w.ResponseWriter.Write(data)
	w.bytes += int64(n)
	return n, err
}
