package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/cmd/yurt/internal/clientlimits"
	"github.com/yurtrun/yurt/cmd/yurt/internal/doors"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keeping"
	"github.com/yurtrun/yurt/cmd/yurt/internal/listen"
	"github.com/yurtrun/yurt/cmd/yurt/internal/older"
	"github.com/yurtrun/yurt/cmd/yurt/internal/otlp"
	"github.com/yurtrun/yurt/cmd/yurt/internal/storage"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/fleet"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/contexts"
	fleetapi "github.com/yurtrun/yurt/controller/httpapi/fleet"
	"github.com/yurtrun/yurt/controller/mcp"
	"github.com/yurtrun/yurt/controller/se"
	"github.com/yurtrun/yurt/executor/identity"
	"github.com/yurtrun/yurt/hcl"
)

const (
	headerLimit   = 10 * time.Second // for a client to send its headers
	shutdownLimit = 10 * time.Second // for requests and sessions to end
	readyPause    = 5 * time.Millisecond
)

// apiServer is the REST API over a controller, joined with the parts below them.
type apiServer struct {
	controller *controller.Controller
	api        *httpapi.API
	mcp        *mcp.Server // nil where no MCP is served
	mcpFlags   *mcpFlags
	older      *se.API         // nil where the older runtime's API is not served
	settings   *older.Settings // likewise
	store      *storage.Storage
	doors      *doors.Doors
	tracer     trace.Tracer // nil where requests are not traced
	logger     *slog.Logger
	metrics    *prometheus.Registry
	source     *identity.Source                  // certificates for nodes elsewhere; nil without such nodes
	closers    []func() error                    // run last to first
	beside     []func(ctx context.Context) error // tasks that run while it serves
	atEnd      func(ctx context.Context) error   // ends or keeps the sessions when the server is told to stop
}

func newAPIServer(logger *slog.Logger, mcpFlags *mcpFlags) *apiServer {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &apiServer{
		logger: logger, metrics: metrics, mcpFlags: mcpFlags,
		atEnd: func(context.Context) error { return nil },
	}
}

// trace has requests traced, if there is a collector of traces.
func (s *apiServer) trace(ctx context.Context, a *app, flags *otlp.Flags, node string) error {
	tracer, stop, err := flags.Start(ctx, a.Getenv, "yurt", version, node, s.logger)
	if err == nil {
		s.tracer = tracer
		s.closers = append(s.closers, stop)
	}
	return err
}

// openStore opens the store of the sessions: a PostgreSQL database by its URL, or SQLite in a file.
func (s *apiServer) openStore(ctx context.Context, where string) (err error) {
	if s.store, err = storage.Open(ctx, where, s.logger); err != nil {
		return err
	}
	s.closers = append(s.closers, s.store.Close)
	return nil
}

// reloads returns the settings that the server takes over on SIGHUP beside the level of its log.
func (s *apiServer) reloads() reloads {
	settings := s.doors.Settings()
	if s.mcp != nil {
		maps.Copy(settings, mcpSettings(s.mcp))
	}
	return reloads{settings, func(ctx context.Context) error { return errors.Join(s.refreshKeys(ctx), refreshed(s.source)) }}
}

// refreshed takes over changed certificates at once. The source may be nil.
func refreshed(source *identity.Source) error {
	if source == nil {
		return nil
	}
	return source.Refresh()
}

// refreshKeys takes over the state of API keys at once, without waiting for the next look at the store.
func (s *apiServer) refreshKeys(ctx context.Context) error {
	if s.doors.Keys == nil {
		return nil
	}
	return s.doors.Keys.Refresh(ctx)
}

// join builds the controller and its API over the store and a placer.
func (s *apiServer) join(ctx context.Context, placer contract.Placer, orphans keeping.Orphans, results keeping.Results, at *listen.Flags, guards *doors.Flags) error {
	templates, err := hcl.Defaults()
	if err != nil {
		return err
	}
	if s.settings != nil {
		s.settings.Warm(templates)
	}
	if s.doors, err = guards.Open(s.store, s.logger, s.metrics); err != nil {
		return err
	}
	config := controller.Config{
		Store: s.doors.Divided(), Placer: placer, Templates: templates, Logger: s.logger, Metrics: s.metrics,
		Orphans: fleet.OrphanPolicy(orphans),
	}
	if err := results.Config(&config); err != nil {
		return err
	}
	if s.controller, err = controller.New(config); err != nil {
		return err
	}
	s.closers = append(s.closers, s.controller.Close)
	s.beside = append(s.beside, s.controller.Run)
	beside, err := s.serveBeside()
	if err != nil {
		return err
	}
	s.doors.Bound(guards, s.controller.Live)
	if err := s.doors.Measure(s.controller, s.logger); err != nil {
		return err
	}
	if at.Keys() || guards.HasIssuer() {
		if err := s.doors.AskForKeys(ctx, s.logger, s.metrics); err != nil {
			return err
		}
	}
	s.beside = append(s.beside, s.doors.Beside...)
	s.api, err = httpapi.New(httpapi.Config{
		Beside: beside, Unknown: s.unknown(),
		Controller: s.controller, Metrics: s.metrics, Version: version, Logger: s.logger, LoopbackOnly: at.Trusting() && !guards.HasIssuer(),
		Keys: s.doors.Keys, Audit: s.doors.Audit, Once: s.doors.Once, Rates: s.doors.Rates, Tracer: s.tracer, Extensions: append(s.doors.Extensions(s.controller), contexts.Operations(s.controller), fleetapi.Operations(s.controller)),
		ParseTemplateJSON: hcl.ParseJSON,
		ParseTemplateHCL: func(ctx context.Context, name string, source []byte) ([]yurt.Template, error) {
			parser := &hcl.Parser{Resolve: func(name string) (yurt.Template, error) { return s.controller.Template(ctx, name) }}
			return parser.Parse(hcl.Source{Name: name, Text: source})
		},
	})
	return err
}

// serveBeside makes the handlers that are served beside the REST API, over the same controller.
func (s *apiServer) serveBeside() (map[string]http.Handler, error) {
	beside := map[string]http.Handler{}
	var err error
	if s.settings != nil {
		s.older, err = se.New(se.Config{Sessions: s.controller, Executions: s.controller, Files: s.controller, Defaults: s.settings.Defaults, Logger: s.logger})
		if err != nil {
			return nil, err
		}
		maps.Copy(beside, s.older.Handlers())
	}
	if s.mcpFlags.off() {
		return beside, nil
	}
	if s.mcp, err = s.mcpFlags.server(s.controller, s.logger, s.doors.Audit, true); err != nil {
		return nil, err
	}
	handler := s.mcp.Handler()
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		beside[method+" /mcp"] = handler
	}
	return beside, nil
}

// unknown returns the answers to requests for no operation that are not those of the REST API.
func (s *apiServer) unknown() map[string]http.Handler {
	if s.older == nil {
		return nil
	}
	path, handler := s.older.Unknown()
	return map[string]http.Handler{path: handler}
}

// serve answers requests until ctx is done, then ends the requests under way. It calls ready once
// every request can be answered.
func (s *apiServer) serve(ctx context.Context, listener net.Listener, ready func()) error {
	server := &http.Server{
		Handler:           clientlimits.Handler(s.api),
		ReadHeaderTimeout: headerLimit,
		MaxHeaderBytes:    clientlimits.MaxHeader,
		IdleTimeout:       clientlimits.Idle,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	told := ctx // to stop
	group, ctx := errgroup.WithContext(ctx)
	// The controller goes on until the sessions are ended, so it has a life of its own.
	background, stop := context.WithCancel(access.Systemwide(context.WithoutCancel(ctx)))
	defer stop()
	for _, task := range s.beside {
		group.Go(func() error { return task(background) })
	}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving requests: %w", err)
		}
		return nil
	})
	group.Go(func() error { return s.awaitReady(ctx, ready) })
	group.Go(func() error {
		defer stop()
		<-ctx.Done()
		if told.Err() == nil { // a part failed, which is no reason to end sessions
			s.atEnd = func(context.Context) error { return nil }
		}
		return s.shutdown(access.Systemwide(context.WithoutCancel(ctx)), server)
	})
	return group.Wait()
}

// awaitReady calls ready once the controller has judged the sessions of an earlier
// life, which is moments after it runs.
func (s *apiServer) awaitReady(ctx context.Context, ready func()) error {
	for s.controller.Ready(ctx) != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readyPause):
		}
	}
	ready()
	return nil
}

// shutdown takes no new requests, refuses the creates that wait, ends the sessions if the server is set to do so, which ends most
// waiting requests, and then all that still wait.
func (s *apiServer) shutdown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownLimit)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- server.Shutdown(ctx) }()
	err := s.controller.RefuseCreates(ctx)
	err = errors.Join(err, s.atEnd(ctx))
	s.api.Drain()
	if s.older != nil {
		s.older.Drain()
	}
	if s.mcp != nil {
		s.mcp.Close()
	}
	if <-drained != nil {
		err = errors.Join(err, server.Close()) // cuts off those that do not end
	}
	return err
}

// endSessions ends every session that has not ended.
func (s *apiServer) endSessions(ctx context.Context) error {
	sessions, err := s.controller.Sessions(ctx, contract.SessionQuery{Live: true})
	if err != nil {
		return err
	}
	var failures []error
	for _, session := range sessions {
		if _, err := s.controller.EndSession(ctx, session.ID); err != nil && yurt.CodeOf(err) != yurt.CodeSessionEnded {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// close closes the parts, last to first. Sandboxes that still run stay.
func (s *apiServer) close() error {
	var failures []error
	for _, closer := range slices.Backward(s.closers) {
		failures = append(failures, closer())
	}
	return errors.Join(failures...)
}
