package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/httpapi/internal/arrival"
	"github.com/yurtrun/yurt/internal/tracing"
)

const (
	routeUnknown = "unknown"
	// slowRequest is how long an answer may take to begin before the request is logged as slow. A session
	// whose sandbox a node makes on demand takes about 0.1 s, so an operation that takes ten times as long
	// waits for something that an operator may want to know of.
	slowRequest = time.Second
)

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	id := arrival.RequestID(r)
	ctx, span := tracing.Enter(tracing.WithRequest(r.Context(), id), a.config.Tracer, r.Method, r.Header.Get)
	r = r.WithContext(ctx)
	w.Header().Set(arrival.HeaderRequestID, id)
	r.Header.Set(arrival.HeaderRequestID, id) // for handlers beside the API
	w.Header().Set("X-Content-Type-Options", "nosniff")
	answer := &response{ResponseWriter: w, status: http.StatusOK}
	defer func() { a.answered(r, answer, begin, span) }()
	defer a.recoverPanic(answer, r)
	err := arrival.CheckLocal(r, a.config.LoopbackOnly)
	if err == nil {
		err = a.config.Rates.CheckAddress(r)
	}
	if err == nil {
		arrival.KeepDotSegments(r.URL, prefix+"/sessions/")
		var (
			identified *http.Request
			done       func()
		)
		if identified, done, err = a.config.Keys.Enter(r); err == nil {
			r = identified
			defer done()
			err = a.config.Rates.CheckKey(r.Context())
		}
	}
	if err != nil {
		action := audit.ActionAuthenticate
		if yurt.CodeOf(err) == yurt.CodeOverloaded {
			action = audit.ActionRateLimit
		}
		a.refuse(answer, r, action, err)
		return
	}
	a.mux.ServeHTTP(answer, r)
}

// refuse answers a request that was refused before its operation began.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, operation string, err error) {
	a.config.Audit.Refused(r, operation, requestID(r.Context()), err)
	writeProblem(w, a.problemOf(r.Context(), err))
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

// requestID returns the id of the request that ctx belongs to.
func requestID(ctx context.Context) string { return tracing.Request(ctx) }

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
