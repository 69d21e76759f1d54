package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/brokered"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/otlp"
	"github.com/yurtrun/yurt/cmd/yurt/internal/process"
	"github.com/yurtrun/yurt/cmd/yurt/internal/scrape"
	"github.com/yurtrun/yurt/controller/local"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/announce"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
)

// An executor in another process stands in for one in this.
var _ local.Executor = (*api.Client)(nil)

// callsLimit bounds how long the calls that are under way may go on when the executor
// is told to stop.
const callsLimit = 10 * time.Second

// Names of listeners between a broker and its executors.
const (
	unixFlag    = "listen"
	tlsFlag     = "listen-tls"
	metricsFlag = "metrics-listen"
)

type executorFlags struct {
	nodeFlags
	listen, listenTLS, node, advertise string
	tls                                identity.Files
	consul                             announce.Config
	metrics                            scrape.Flags
	traces                             otlp.Flags
}

func newExecutorCommand(a *app) *cobra.Command {
	var f executorFlags
	cmd := &cobra.Command{
		Use:     "executor",
		Short:   "Run the sandboxes of this machine for controllers and the Nomad driver",
		GroupID: cli.GroupHost,
		Long: `Run the sandboxes of this machine for other programs. The Nomad driver calls the executor on
a Unix socket, which root and the executor's own user may use. Controllers call it over mutual
TLS (see yurt ca).

Sandboxes and their programs run on when the executor stops or is killed. An executor of this
version or a newer one that starts on the same state directory takes them over, and no output
is lost.` + config.Help,
		Example: "  yurt executor\n  yurt executor --state-dir ./state --listen ./executor.sock --log-format json\n" +
			"  yurt executor --listen-tls :8701 --node node1 \\\n    --tls-ca yurt-ca.pem --tls-cert executor-node1.pem --tls-key executor-node1-key.pem",
		Args: arguments.None,
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.listen, "listen", "", "the Unix socket to listen on (default: executor.sock in the state directory)")
	flags.StringVar(&f.listenTLS, "listen-tls", "", "the address, host:port, to listen on for controllers (default: none)")
	flags.StringVar(&f.tls.Authorities, "tls-ca", "", "with --listen-tls: the file with the authorities that sign the certificates of controllers")
	flags.StringVar(&f.tls.Certificate, "tls-cert", "", "with --listen-tls: the file with the certificate of this executor")
	flags.StringVar(&f.tls.Key, "tls-key", "", "with --listen-tls: the file with the key of --tls-cert")
	flags.StringVar(&f.node, "node", "", "the name of this node (default: the host's)")
	flags.StringVar(&f.advertise, "advertise", "", "with --consul: the address, host:port, at which controllers reach this executor (default: that of --listen-tls)")
	flags.StringVar(&f.consul.Consul, "consul", "", "the address of this machine's Consul agent, where the executor announces the node; CONSUL_HTTP_TOKEN and the like work too (default: no announcement)")
	flags.StringVar(&f.consul.TokenFile, "consul-token-file", "", "with --consul: a file with the ACL token, read again for each use")
	flags.StringVar(&f.consul.CAFile, "consul-ca", "", "with --consul: the file with the authorities that sign the agent's certificate")
	flags.StringVar(&f.consul.CertFile, "consul-cert", "", "with --consul: the file with the client certificate for the agent")
	flags.StringVar(&f.consul.KeyFile, "consul-key", "", "with --consul: the file with the key of --consul-cert")
	f.metrics.Add(flags)
	f.traces.Add(flags)
	a.serves(cmd, func() error { return f.check(a) }, func(ctx context.Context) error { return a.serveExecutor(ctx, f) })
	return cmd
}

// check refuses invalid flags, and fills in the defaults.
func (f *executorFlags) check(a *app) error {
	_, err := f.log.Logger(a.Stderr)
	return errors.Join(err, f.metrics.Check(), f.traces.Check(), f.complete(a))
}

// complete fills in the defaults.
func (f *executorFlags) complete(a *app) (err error) {
	if err := f.nodeFlags.complete(a); err != nil {
		return err
	}
	f.tasks = true
	if f.listen == "" {
		f.listen = filepath.Join(f.stateDir, "executor.sock")
	}
	if f.node == "" {
		if f.node, err = os.Hostname(); err != nil {
			return yurt.Errorf(yurt.CodeInvalidArgument, "this host has no name; give --node")
		}
	}
	if given := f.tls.Authorities != "" && f.tls.Certificate != "" && f.tls.Key != ""; f.listenTLS != "" && !given {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--listen-tls", "controllers and this executor have to know each other; give --tls-ca, --tls-cert and --tls-key, which yurt ca makes")
	}
	if f.consul.Consul != "" && f.listenTLS == "" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--consul", "controllers that hear of this node have to reach it; give --listen-tls")
	}
	return nil
}

// listeners are those that outlive an executor.
func (f *executorFlags) listeners() (list []brokered.Listener) {
	list = append(list, brokered.Listener{Flag: unixFlag, Bind: f.bindUnix})
	if f.listenTLS != "" {
		list = append(list, brokered.Listener{Flag: tlsFlag, Bind: f.bindTLS})
	}
	if f.metrics.Address != "" {
		list = append(list, brokered.Listener{Flag: metricsFlag, Bind: f.metrics.Bind})
	}
	return list
}

func (f *executorFlags) bindUnix(ctx context.Context) (net.Listener, error) {
	return api.ListenUnix(ctx, f.listen)
}

func (f *executorFlags) bindTLS(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listenTLS)
	if err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeUnavailable, "--listen-tls", "listening on %s: %w", f.listenTLS, err)
	}
	return listener, nil
}

func (a *app) serveExecutor(ctx context.Context, f executorFlags) (err error) {
	if err := f.check(a); err != nil {
		return err
	}
	logger, err := f.log.Logger(a.Stderr)
	if err != nil {
		return err
	}
	if a.dividesPower() {
		return a.keepExecutor(ctx, "executor", &f.nodeFlags, logger, f.node, f.listeners()...)
	}
	process.Serve(logger)
	source, err := f.identity(logger)
	if err != nil {
		return err
	}
	config, err := f.config(a, logger, f.node)
	if err != nil {
		return err
	}
	node, err := executor.New(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	if err := node.Start(ctx); err != nil {
		return err
	}
	stop, err := f.metrics.Start(ctx, a.executor.Listener(metricsFlag, f.metrics.Bind), logger, node.Metrics())
	if err != nil {
		return err
	}
	defer stop()
	tracer, sendRest, err := f.traces.Start(ctx, a.Getenv, "yurt-executor", version, f.node, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sendRest()) }()
	server := api.NewServer(api.ServerConfig{Node: node, Name: f.node, Version: version, Announced: f.consul.Consul != "", Logger: logger, Tracer: tracer})
	return a.offer(ctx, f, server, source, logger, node)
}

// offer serves callers until ctx is done.
func (a *app) offer(ctx context.Context, f executorFlags, server *api.Server, source *identity.Source, logger *slog.Logger, node announce.Node) error {
	address := ""
	if source != nil {
		listener, err := a.executor.Listener(tlsFlag, f.bindTLS)(ctx)
		if err != nil {
			return err
		}
		address = listener.Addr().String()
		server.ServeTLS(listener, source)
	}
	shutdown := func() {
		a.notify(logger, daemon.SdNotifyStopping)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), callsLimit)
		defer cancel()
		server.Shutdown(limited)
	}
	listener, err := a.executor.Listener(unixFlag, f.bindUnix)(ctx)
	if err != nil {
		shutdown()
		return errors.Join(err, server.Wait())
	}
	server.ServeUnix(listener)
	defer context.AfterFunc(ctx, shutdown)()
	announcing, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() {
		certificates := reloads{also: func(context.Context) error { return refreshed(source) }}
		_ = a.reload("executor", logger, &f.log, certificates)(announcing) // it ends without an error
	})
	if source != nil {
		beside.Go(func() { source.Run(announcing) })
	}
	done, err := f.announce(announcing, address, node, logger)
	if err != nil {
		stop()
		shutdown()
		return errors.Join(err, server.Wait())
	}
	a.announceExecutor(f, address)
	a.notify(logger, daemon.SdNotifyReady)
	err = server.Wait()
	stop()
	<-done
	return err
}

// announce tells Consul of the node, if it is to, until ctx is done. The channel is closed
// when that is over.
func (f *executorFlags) announce(ctx context.Context, address string, node announce.Node, logger *slog.Logger) (<-chan struct{}, error) {
	done := make(chan struct{})
	if f.consul.Consul == "" {
		close(done)
		return done, nil
	}
	config := f.consul
	config.Node, config.Address, config.Version, config.Logger = f.node, cmp.Or(f.advertise, address), version, logger
	announcer, err := announce.New(config)
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(done)
		announcer.Run(ctx, node)
	}()
	return done, nil
}

// identity returns the certificate that the executor shows to controllers; nil if it serves no controllers.
func (f *executorFlags) identity(logger *slog.Logger) (*identity.Source, error) {
	if f.listenTLS == "" {
		return nil, nil //nolint:nilnil // the executor serves no controllers, and that is no error
	}
	source, err := identity.Open(f.tls, identity.RoleExecutor, time.Now, logger)
	if err != nil {
		return nil, err
	}
	name, _, err := source.Name()
	if err != nil {
		return nil, err
	}
	if name.Name != f.node {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--tls-cert", "it is of %s, and this is node %s, which controllers expect; issue one to it, or give --node", name, f.node)
	}
	return source, nil
}

// notify tells systemd how far the start is, if systemd started the broker.
func (a *app) notify(logger *slog.Logger, state string) {
	if err := a.executor.Tell(state); err != nil {
		logger.Warn("telling systemd", "state", state, "error", err)
	}
}

// announceExecutor says where to call. Programs that start an executor read it too.
func (a *app) announceExecutor(f executorFlags, address string) {
	if a.JSON {
		_ = a.PrintJSON(map[string]string{"socket": f.listen, "address": address, "node": f.node, "state_dir": f.stateDir})
		return
	}
	a.Printf("Yurt %s owns the sandboxes of node %s\n\n  socket   %s\n", version, f.node, f.listen)
	if address != "" {
		a.Printf("  TLS      %s\n", address)
	}
	a.Printf("  state    %s\n\nCtrl-C leaves the sandboxes running; start it again to go on with them.\n", f.stateDir)
}
