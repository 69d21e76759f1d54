package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/httpapi/internal/compress"
	"github.com/yurtrun/yurt/controller/httpapi/internal/docpage"
	"github.com/yurtrun/yurt/controller/httpapi/internal/document"
	"github.com/yurtrun/yurt/controller/once"
)

const (
	prefix = "/api/v1"
	// defaultHeartbeat keeps proxies from closing a quiet stream.
	defaultHeartbeat = 15 * time.Second
)

// Config holds the settings and parts of an [API]. Controller is required.
type Config struct {
	Controller *controller.Controller

	// ParseTemplateHCL reads the templates of an HCL source; ParseTemplateJSON reads
	// the one of a JSON source. Without one of them, templates cannot be made from
	// that form.
	ParseTemplateHCL  func(ctx context.Context, filename string, src []byte) ([]yurt.Template, error)
	ParseTemplateJSON func(src []byte) (yurt.Template, error)

	Version string               // of the program, for /version and the OpenAPI document
	Commit  string               // it was built from; may be empty
	Logger  *slog.Logger         // nil: no log
	Metrics *prometheus.Registry // the source of /metrics; nil: a registry of its own

	// Beside serves other protocols at the same address, by pattern: a method and a path, such as
	// "POST /mcp". Requests for them are guarded, logged and counted as those of the API are.
	Beside map[string]http.Handler
	// Unknown answers requests below a path, such as "/old/", that are for no operation there, with errors in another protocol's
	// form. It serves every caller, without a check of keys.
	Unknown map[string]http.Handler

	// Keys checks the API keys of requests; nil: every request is the operator's.
	Keys  *auth.Authenticator
	Rates *auth.Rates // of requests; nil: no bounds
	// Audit records changes and refusals; it may be nil.
	Audit *audit.Log
	// Once carries out requests with an Idempotency-Key once, but for creates of sessions, whose keys the controller keeps. Without
	// it those keys have no effect.
	Once *once.Requests
	// Extensions add operations that are not in this package.
	Extensions []Extension

	// Tracer makes a span of each request; it may be nil.
	Tracer trace.Tracer

	// LoopbackOnly refuses requests whose Host is not of this machine and those that
	// a page of another origin makes. It protects a server without keys from web
	// pages that its user visits.
	LoopbackOnly bool

	// Heartbeat is the longest silence on an event stream; 0 means 15 seconds.
	Heartbeat time.Duration
}

// API serves the controller over HTTP. It is an http.Handler, safe for concurrent
// use.
type API struct {
	config  Config
	ctl     *controller.Controller
	log     *slog.Logger
	metrics *metrics
	mux     *http.ServeMux
	huma    huma.API
	policy  auth.Policy
	samples map[string][]document.Sample
	// bodySchemas are those of the JSON bodies of requests.
	bodySchemas []*huma.Schema

	draining context.Context // done once the server drains
	drain    context.CancelFunc
}

// New returns the API of a controller.
func New(config Config) (*API, error) {
	if config.Controller == nil {
		return nil, errors.New("making the API: it needs a controller")
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Metrics == nil {
		config.Metrics = prometheus.NewRegistry()
	}
	if config.Heartbeat <= 0 {
		config.Heartbeat = defaultHeartbeat
	}
	metrics, err := newMetrics(config.Metrics)
	if err != nil {
		return nil, err
	}
	a := &API{
		config: config, ctl: config.Controller, log: config.Logger, metrics: metrics,
		mux: http.NewServeMux(), policy: auth.NewPolicy(), samples: document.Samples(),
	}
	a.draining, a.drain = context.WithCancel(context.Background())
	repeats := config.Once.Wrap(func(w http.ResponseWriter, r *http.Request, err error) {
		writeProblem(w, a.problemOf(r.Context(), err))
	})
	a.huma = huma.NewAPI(a.humaConfig(), &adapter{mux: a.mux, guarded: a.guarded, once: repeats, compressed: compress.New(typeJSON, typeProblem)})
	a.registerSessions()
	a.registerExecute()
	a.registerExecutions()
	a.registerControl()
	a.registerPause()
	a.registerProcesses()
	a.registerStory()
	a.registerLogs()
	a.registerTerminal()
	a.registerFiles()
	a.registerTrees()
	a.registerTemplates()
	a.registerSystem()
	for _, extend := range config.Extensions {
		extend(a)
	}
	return a, a.handlePages()
}

// handlePages adds the routes beside the API's operations: its documents, the metrics, and the answer to unknown routes.
func (a *API) handlePages() error {
	if err := a.handleDocument(); err != nil {
		return err
	}
	a.mux.Handle("GET /metrics", a.guarded("/metrics", promhttp.HandlerFor(a.config.Metrics, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
	})))
	docpage.Handle(a.mux)
	for pattern, handler := range a.config.Beside {
		_, path, _ := strings.Cut(pattern, " ")
		a.mux.Handle(pattern, a.guarded(path, handler))
	}
	for path, handler := range a.config.Unknown {
		a.mux.Handle(path, handler)
	}
	a.mux.HandleFunc("/", a.unknownRoute)
	return nil
}

// Drain ends every event stream, and every request that waits for an execution,
// with word that the server goes down. The executions go on. Call it when the server
// begins to shut down; it returns at once.
func (a *API) Drain() { a.drain() }

// drains reports whether the server shuts down: connections that end then are not their clients' doing.
func (a *API) drains() bool { return a.draining.Err() != nil }

// untilDrain returns a context that also ends when the server drains; then its
// cause is errDraining.
func (a *API) untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.draining, func() { cancel(errDraining) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

var errDraining = errors.New("the server is shutting down")
