package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/local"
	"github.com/yurtrun/yurt/controller/sqlite"
	"github.com/yurtrun/yurt/hcl"
)

const (
	headerLimit   = 10 * time.Second // for a client to send its headers
	shutdownLimit = 10 * time.Second // for requests and sessions to end
	readyPause    = 5 * time.Millisecond
)

type devFlags struct {
	nodeFlags
	listen string
	keep   bool
}

func newDevCommand(a *app) *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:     "dev",
		Short:   "Serve the REST API on this machine, everything in one process",
		GroupID: groupRun,
		Long: `Serve the REST API with everything in one process: controller, sandboxes and a SQLite
database in the state directory. It asks nobody for a key, and so it listens on this
machine alone.

Ctrl-C ends the sessions and then the server. A server that is killed leaves them
running, and finds them again when it is started on the same state directory.` + settingsHelp,
		Example: "  yurt dev\n  yurt dev --listen 127.0.0.1:0 --state-dir ./state --log-format json",
		Args:    noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return a.readSettings(cmd.Flags()) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.serveDev(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultListen, "where to listen: a loopback address and a port, 0 for any that is free")
	f.add(flags)
	flags.BoolVar(&f.keep, "keep-sessions", false, "leave the sessions running on Ctrl-C, for the next start to find again")
	return cmd
}

func (a *app) serveDev(ctx context.Context, f devFlags) error {
	if err := checkLoopback(f.listen); err != nil {
		return err
	}
	logger, err := a.logger(f.logFormat)
	if err != nil {
		return err
	}
	if err := f.complete(a); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "listening on %s: %w; is another yurt dev running? --listen 127.0.0.1:0 takes any free port", f.listen, err)
	}
	defer listener.Close()
	server, err := a.newDevServer(ctx, f.nodeFlags, logger)
	if err != nil {
		return err
	}
	announce := func() { a.announce(listener.Addr(), f.stateDir) }
	return errors.Join(server.serve(ctx, listener, announce, f.keep), server.close())
}

func (a *app) logger(format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(a.stderr, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.stderr, nil)), nil
	default:
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--log-format", "%q is no format of logs; give text or json", format)
	}
}

// announce says where to go. Programs that start yurt dev read it too.
func (a *app) announce(address net.Addr, stateDir string) {
	base := "http://" + address.String()
	if a.json {
		_ = a.printJSON(map[string]string{"url": base, "docs": base + "/docs", "state_dir": stateDir})
		return
	}
	a.printf("Yurt %s listens on %s\n\n", version, base)
	a.printf("  API      %s/api/v1\n  docs     %s/docs\n  OpenAPI  %s/openapi.json\n  metrics  %s/metrics\n  state    %s\n\n", base, base, base, base, stateDir)
	a.printf("Try: yurt session create --server %s\nCtrl-C ends the sessions and the server.\n", base)
}

// devServer is everything that yurt dev runs, joined.
type devServer struct {
	controller *controller.Controller
	placer     *local.Placer
	api        *httpapi.API
	logger     *slog.Logger
	closers    []func() error // run last to first
}

// newDevServer builds the parts from the bottom up; what is built when a later one
// fails is closed again.
func (a *app) newDevServer(ctx context.Context, f nodeFlags, logger *slog.Logger) (_ *devServer, err error) {
	s := &devServer{logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	node, err := f.executor(a, logger, localNode)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, node.Close)
	if err := node.Start(ctx); err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(f.stateDir, "yurt.db"))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, store.Close)
	templates, err := hcl.Defaults()
	if err != nil {
		return nil, err
	}
	metrics := prometheus.NewRegistry()
	s.placer = local.New(localNode, node, logger)
	s.controller, err = controller.New(controller.Config{
		Store: store, Placer: s.placer, Templates: templates, Logger: logger, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.controller.Close)
	if err := metrics.Register(s.placer.Metrics()); err != nil {
		return nil, fmt.Errorf("registering the metrics of the warm pools: %w", err)
	}
	parser := &hcl.Parser{Resolve: func(name string) (yurt.Template, error) {
		return s.controller.Template(context.WithoutCancel(ctx), name)
	}}
	s.api, err = httpapi.New(httpapi.Config{
		Controller: s.controller, Metrics: metrics, Version: version, Logger: logger, LoopbackOnly: true,
		ParseTemplateJSON: hcl.ParseJSON,
		ParseTemplateHCL: func(name string, source []byte) ([]yurt.Template, error) {
			return parser.Parse(hcl.Source{Name: name, Text: source})
		},
	})
	return s, err
}

// serve answers requests until ctx is done, then ends what is under way. It calls
// ready once every request can be answered.
func (s *devServer) serve(ctx context.Context, listener net.Listener, ready func(), keep bool) error {
	server := &http.Server{
		Handler:           s.api,
		ReadHeaderTimeout: headerLimit,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	group, ctx := errgroup.WithContext(ctx)
	// The controller goes on until the sessions are ended, so it has a life of its own.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group.Go(func() error { return s.controller.Run(background) })
	group.Go(func() error {
		s.placer.Run(background, s.controller.PooledTemplates)
		return nil
	})
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
		return s.shutdown(context.WithoutCancel(ctx), server, keep)
	})
	return group.Wait()
}

// awaitReady calls ready once the controller has judged the sessions of an earlier
// life, which is moments after it runs.
func (s *devServer) awaitReady(ctx context.Context, ready func()) error {
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

// shutdown takes no new requests, ends the sessions, which ends most requests that
// wait for something, then all that still wait, and then those sessions that came
// into being meanwhile.
func (s *devServer) shutdown(ctx context.Context, server *http.Server, keep bool) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownLimit)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- server.Shutdown(ctx) }()
	end := s.endSessions
	if keep {
		end = func(context.Context) error { return nil }
	}
	err := end(ctx)
	s.api.Drain()
	if <-drained != nil {
		err = errors.Join(err, server.Close()) // cuts off those that do not end
	}
	return errors.Join(err, end(ctx))
}

// endSessions ends every session that has not ended.
func (s *devServer) endSessions(ctx context.Context) error {
	sessions, err := s.controller.Sessions(ctx, controller.SessionQuery{Live: true})
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
func (s *devServer) close() error {
	var failures []error
	for _, closer := range slices.Backward(s.closers) {
		failures = append(failures, closer())
	}
	return errors.Join(failures...)
}
