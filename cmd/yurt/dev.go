package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/brokered"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/doors"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keeping"
	"github.com/yurtrun/yurt/cmd/yurt/internal/listen"
	"github.com/yurtrun/yurt/cmd/yurt/internal/older"
	"github.com/yurtrun/yurt/cmd/yurt/internal/otlp"
	"github.com/yurtrun/yurt/cmd/yurt/internal/process"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/local"
	"github.com/yurtrun/yurt/executor"
)

// listenFlag names the listener of the REST API between a broker and its executors.
const listenFlag = "listen"

type devFlags struct {
	nodeFlags
	listen  listen.Flags
	keep    bool
	orphans keeping.Orphans
	results keeping.Results
	mcp     mcpFlags
	traces  otlp.Flags
	doors   doors.Flags
}

func newDevCommand(a *app) *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:     "dev",
		Short:   "Serve the REST API on this machine, everything in one process",
		GroupID: cli.GroupRun,
		Long: `Serve the REST API with everything in one process: controller, sandboxes and an SQLite
database in the state directory. Requests need no key while the server listens on this machine
alone. With a --listen that other machines reach, requests need an API key and TLS.

Ctrl-C ends the sessions and then the server. When a server is killed, its sessions run on, and
the next server on the same state directory takes them over.` + config.Help,
		Example: "  yurt dev\n  yurt dev --listen 127.0.0.1:0 --state-dir ./state --log-format json",
		Args:    arguments.None,
	}
	flags := cmd.Flags()
	f.listen.Add(flags)
	f.add(flags)
	flags.BoolVar(&f.keep, "keep-sessions", false, "on Ctrl-C, let the sessions run on until the next start")
	f.orphans.Add(flags)
	f.results.Add(flags)
	f.mcp.add(flags)
	f.doors.Add(flags)
	f.traces.Add(flags)
	a.serves(cmd, func() error { return f.check(a) }, func(ctx context.Context) error { return a.serveDev(ctx, f) })
	return cmd
}

// check refuses invalid flags, and fills in the defaults.
func (f *devFlags) check(a *app) error {
	_, err := f.log.Logger(a.Stderr)
	return errors.Join(f.listen.Check(), err, f.orphans.Check(), f.results.Config(new(controller.Config)), f.mcp.check(), f.doors.Check(), f.traces.Check(), f.complete(a))
}

func (a *app) serveDev(ctx context.Context, f devFlags) error {
	if err := f.check(a); err != nil {
		return err
	}
	logger, err := f.log.Logger(a.Stderr)
	if err != nil {
		return err
	}
	if a.dividesPower() {
		return a.keepExecutor(ctx, "dev", &f.nodeFlags, logger, localNode, brokered.Listener{Flag: listenFlag, Bind: f.listen.Bind})
	}
	process.Serve(logger)
	listener, err := f.listen.Open(ctx, a.executor.Listener(listenFlag, f.listen.Bind))
	if err != nil {
		return err
	}
	defer listener.Close()
	server, err := a.newDevServer(ctx, f, logger)
	if err != nil {
		return err
	}
	server.beside = append(server.beside, a.reload("dev", logger, &f.log, server.reloads()))
	announce := func() {
		a.announceServer(f.listen.URL(listener.Addr()), keeps{"state", "state_dir", f.stateDir}, "Ctrl-C ends the sessions and the server.")
	}
	return errors.Join(server.serve(ctx, listener, announce), server.close())
}

// keeps names the place where a server keeps its state.
type keeps struct{ name, key, where string }

// announceServer prints the server's address, the place of its state, and the effect of Ctrl-C.
// Programs that start a server read it too.
func (a *app) announceServer(base string, keeps keeps, atEnd string) {
	if a.JSON {
		_ = a.PrintJSON(map[string]string{"url": base, "docs": base + "/docs", keeps.key: keeps.where})
		return
	}
	a.Printf("Yurt %s listens on %s\n\n", version, base)
	a.Printf("  API      %s/api/v1\n  docs     %s/docs\n  OpenAPI  %s/openapi.json\n  metrics  %s/metrics\n  %-8s %s\n\n", base, base, base, base, keeps.name, keeps.where)
	a.Printf("Try: yurt session create --server %s\n%s\n", base, atEnd)
}

// newDevServer builds the parts from the bottom up; if a later part fails, the earlier ones are
// closed again.
func (a *app) newDevServer(ctx context.Context, f devFlags, logger *slog.Logger) (_ *apiServer, err error) {
	s := newAPIServer(logger, &f.mcp)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.settings, err = older.Read(a.Env); err != nil {
		return nil, err
	}
	if err := s.trace(ctx, a, &f.traces, localNode); err != nil {
		return nil, err
	}
	config, err := f.config(a, logger, localNode)
	if err != nil {
		return nil, err
	}
	node, err := executor.New(config)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, node.Close)
	if err := node.Start(ctx); err != nil {
		return nil, err
	}
	if err := s.openStore(ctx, filepath.Join(f.stateDir, "yurt.db")); err != nil {
		return nil, err
	}
	placer := local.New(localNode, node, logger)
	if err := s.join(ctx, placer, f.orphans, f.results, &f.listen, &f.doors); err != nil {
		return nil, err
	}
	if err := errors.Join(s.metrics.Register(placer.Metrics()), s.metrics.Register(node.Metrics())); err != nil {
		return nil, fmt.Errorf("registering the metrics of the node: %w", err)
	}
	s.beside = append(s.beside, func(ctx context.Context) error {
		placer.Run(ctx, s.controller.PooledTemplates)
		return nil
	})
	if !f.keep {
		s.atEnd = s.endSessions
	}
	return s, nil
}
