package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/doors"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keeping"
	"github.com/yurtrun/yurt/cmd/yurt/internal/listen"
	"github.com/yurtrun/yurt/cmd/yurt/internal/older"
	"github.com/yurtrun/yurt/cmd/yurt/internal/otlp"
	"github.com/yurtrun/yurt/cmd/yurt/internal/process"
	"github.com/yurtrun/yurt/cmd/yurt/internal/serverlog"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/cluster"
	"github.com/yurtrun/yurt/controller/consul"
	"github.com/yurtrun/yurt/controller/nomad"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
)

// A placer claims sandboxes with a client of an executor.
var _ cluster.Client = (*api.Client)(nil)

// maxJobspec bounds the file of --jobspec, in bytes.
const maxJobspec = 1 << 20

type controllerFlags struct {
	log             serverlog.Flags
	listen          listen.Flags
	store, stateDir string
	orphans         keeping.Orphans
	results         keeping.Results
	mcp             mcpFlags
	traces          otlp.Flags
	doors           doors.Flags
	jobspec         string
	nomad           nomad.Config
	consul          consul.Config
	tls             identity.Files
}

func newControllerCommand(a *app) *cobra.Command {
	var f controllerFlags
	cmd := &cobra.Command{
		Use:     "controller",
		Short:   "Serve the REST API on a Nomad cluster",
		GroupID: cli.GroupRun,
		Long: `Serve the REST API with sandboxes on the nodes of a Nomad cluster. Nomad grants the room
for sandboxes. Each node's executor (driver = "yurt") announces its warm sandboxes in Consul.
The controller claims a warm sandbox of a node, or has Nomad start a job for the session.

Requests need no key while the controller listens on this machine alone. With a --listen that
other machines reach, requests need an API key (see yurt key create) and TLS.

Sessions run on when the controller stops or is killed; one that starts on the same store takes
them over. Nomad and Consul are also found by their own environment variables, such as
NOMAD_ADDR, NOMAD_TOKEN and CONSUL_HTTP_ADDR.` + config.Help,
		Example: "  yurt controller --nomad http://127.0.0.1:4646 --consul 127.0.0.1:8500 \\\n" +
			"    --tls-ca yurt-ca.pem --tls-cert controller.pem --tls-key controller-key.pem",
		Args: arguments.None,
	}
	f.add(cmd.Flags())
	config.Secret(cmd.Flags(), "store")
	a.serves(cmd, func() error { return f.check(a) }, func(ctx context.Context) error { return a.serveController(ctx, f) })
	return cmd
}

func (f *controllerFlags) add(flags *pflag.FlagSet) {
	f.listen.Add(flags)
	flags.BoolVar(&f.listen.Insecure, "insecure-listen", false, "the former name of --insecure")
	_ = flags.MarkDeprecated("insecure-listen", "it is --insecure now") // it is there
	flags.StringVar(&f.store, "store", "", "the database of sessions: the URL of a PostgreSQL database, which several controllers can share, or the path of an SQLite file (default: controller.db in the state directory)")
	flags.StringVar(&f.stateDir, "state-dir", "", "the directory for files that --store does not name (default: /var/lib/yurt for root)")
	f.orphans.Add(flags)
	f.results.Add(flags)
	f.mcp.add(flags)
	f.doors.Add(flags)
	f.traces.Add(flags)
	f.log.Add(flags)
	flags.StringVar(&f.tls.Authorities, "tls-ca", "", "the file with the authorities that sign the certificates of nodes (see yurt ca)")
	flags.StringVar(&f.tls.Certificate, "tls-cert", "", "the file with the certificate of this controller")
	flags.StringVar(&f.tls.Key, "tls-key", "", "the file with the key of --tls-cert")
	flags.StringVar(&f.jobspec, "jobspec", "", "the Nomad job that starts a sandbox where no node has a warm one (default: jobspecs/session.nomad.hcl, built in)")
	flags.StringVar(&f.nomad.Address, "nomad", "", "the address of Nomad (default: NOMAD_ADDR, or http://127.0.0.1:4646)")
	flags.StringVar(&f.nomad.Region, "nomad-region", "", "the Nomad region of the sandboxes")
	flags.StringVar(&f.nomad.Namespace, "nomad-namespace", "", "the Nomad namespace of the jobs")
	flags.StringVar(&f.nomad.NodePool, "nomad-node-pool", "", "the Nomad node pool of the sandboxes")
	flags.StringSliceVar(&f.nomad.Datacenters, "nomad-datacenters", nil, "the Nomad datacenters of the sandboxes")
	flags.StringVar(&f.nomad.TokenFile, "nomad-token-file", "", "a file with the ACL token for Nomad (default: NOMAD_TOKEN)")
	flags.IntVar(&f.nomad.MHzPerCore, "nomad-mhz-per-core", 0, "how many of Nomad's MHz one core of a session takes (default: the MHz of a core of the nodes)")
	flags.StringVar(&f.nomad.CAFile, "nomad-ca", "", "the file with the authorities that sign Nomad's certificate")
	flags.StringVar(&f.nomad.CertFile, "nomad-cert", "", "the file with the client certificate that Nomad asks for")
	flags.StringVar(&f.nomad.KeyFile, "nomad-key", "", "the file with the key of --nomad-cert")
	flags.StringVar(&f.consul.Address, "consul", "", "the address of Consul (default: CONSUL_HTTP_ADDR, or 127.0.0.1:8500)")
	flags.StringVar(&f.consul.TokenFile, "consul-token-file", "", "a file with the ACL token for Consul (default: CONSUL_HTTP_TOKEN)")
	flags.StringVar(&f.consul.CAFile, "consul-ca", "", "the file with the authorities that sign Consul's certificate")
	flags.StringVar(&f.consul.CertFile, "consul-cert", "", "the file with the client certificate that Consul asks for")
	flags.StringVar(&f.consul.KeyFile, "consul-key", "", "the file with the key of --consul-cert")
}

// check refuses invalid flags.
func (f *controllerFlags) check(a *app) error {
	_, err := f.log.Logger(a.Stderr)
	return errors.Join(f.listen.Check(), err, f.orphans.Check(), f.results.Config(new(controller.Config)), f.mcp.check(), f.doors.Check(), f.traces.Check(), f.checkParts(a))
}

// checkParts refuses flags of the parts of a cluster, and reads the jobspec.
func (f *controllerFlags) checkParts(a *app) error {
	if f.tls.Authorities == "" || f.tls.Certificate == "" || f.tls.Key == "" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--tls-cert", "nodes and this controller have to know each other; give --tls-ca, --tls-cert and --tls-key, which yurt ca makes")
	}
	if f.jobspec != "" {
		text, err := a.ReadInput(f.jobspec, maxJobspec)
		if err != nil {
			return err
		}
		f.nomad.Jobspec = string(text)
	}
	return nil
}

// complete fills in the defaults.
func (f *controllerFlags) complete(a *app) (err error) {
	if f.stateDir == "" {
		if f.stateDir, err = a.StateDir(); err != nil {
			return err
		}
	}
	if f.store == "" {
		if err := os.MkdirAll(f.stateDir, 0o700); err != nil {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--state-dir", "making the state directory: %w", err)
		}
		f.store = filepath.Join(f.stateDir, "controller.db")
	}
	return nil
}

func (a *app) serveController(ctx context.Context, f controllerFlags) error {
	if err := f.check(a); err != nil {
		return err
	}
	if err := f.complete(a); err != nil {
		return err
	}
	logger, err := f.log.Logger(a.Stderr)
	if err != nil {
		return err
	}
	process.Serve(logger)
	listener, err := f.listen.Open(ctx, f.listen.Bind)
	if err != nil {
		return err
	}
	defer listener.Close()
	server, err := a.newClusterServer(ctx, f, logger)
	if err != nil {
		return err
	}
	server.beside = append(server.beside, a.reload("controller", logger, &f.log, server.reloads()))
	announce := func() {
		a.announceServer(f.listen.URL(listener.Addr()), keeps{"store", "store", f.storeName()}, "Ctrl-C leaves the sessions running; start it again to go on with them.")
	}
	return errors.Join(server.serve(ctx, listener, announce), server.close())
}

// storeName describes the place of the sessions, without passwords.
func (f *controllerFlags) storeName() string {
	if postgres.IsURL(f.store) {
		return "PostgreSQL"
	}
	return f.store
}

// newClusterServer builds the parts from the bottom up; if a later part fails, the earlier ones are
// closed again.
func (a *app) newClusterServer(ctx context.Context, f controllerFlags, logger *slog.Logger) (_ *apiServer, err error) {
	s := newAPIServer(logger, &f.mcp)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.settings, err = older.Read(a.Env); err != nil {
		return nil, err
	}
	if err := s.trace(ctx, a, &f.traces, "controller"); err != nil {
		return nil, err
	}
	if err := s.openStore(ctx, f.store); err != nil {
		return nil, err
	}
	source, err := identity.Open(f.tls, identity.RoleController, time.Now, logger)
	if err != nil {
		return nil, err
	}
	s.source = source
	s.beside = append(s.beside, func(ctx context.Context) error {
		source.Run(ctx)
		return nil
	})
	f.consul.Logger, f.nomad.Logger = logger, logger
	view, err := consul.New(ctx, f.consul)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { view.Close(); return nil })
	engine, err := nomad.New(ctx, f.nomad)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { engine.Close(); return nil })
	placer, err := cluster.New(cluster.Config{
		View: view, Engine: engine, Logger: logger, Metrics: s.metrics,
		Dial: func(node, address string) (cluster.Client, error) { return api.NewTLSClient(address, node, source) },
	})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, placer.Close)
	s.beside = append(s.beside, func(ctx context.Context) error {
		placer.RunPools(ctx, s.controller.PooledTemplates, s.controller.Leads)
		return nil
	})
	return s, s.join(ctx, placer, f.orphans, f.results, &f.listen, &f.doors)
}
