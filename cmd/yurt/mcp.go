package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/doors"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keeping"
	"github.com/yurtrun/yurt/cmd/yurt/internal/listen"
	"github.com/yurtrun/yurt/cmd/yurt/internal/remote"
	"github.com/yurtrun/yurt/cmd/yurt/internal/serverlog"
	"github.com/yurtrun/yurt/controller/fleet"
	"github.com/yurtrun/yurt/controller/local"
)

const (
	answerLimit = 30 * time.Second // for an agent to take an answer, as over HTTP
	leaveLimit  = time.Second      // likewise once this command is told to end
)

// mcpCommandFlags are those of yurt mcp.
type mcpCommandFlags struct {
	mcpFlags
	log    serverlog.Flags
	server string
}

func newMCPCommand(a *app) *cobra.Command {
	var f mcpCommandFlags
	cmd := &cobra.Command{
		Use:     "mcp",
		Short:   "Serve sandboxes to an agent by MCP, on standard input and output",
		GroupID: cli.GroupRun,
		Long: `Serve sandboxes to an agent by the Model Context Protocol, on standard input and output.
An agent's program starts this command itself: see yurt mcp config.

With --server, or YURT_SERVER, the sandboxes are those of that server, and they live on when the
agent is gone. Without it the command runs them itself, and ends them when the agent closes its
standard input. They end likewise when the command is killed, and when the agent reads no answer
for 30 seconds.

Each flag can also be given as an environment variable: --mcp-tools is YURT_MCP_TOOLS. The flag
wins over the variable.`,
		Example: "  yurt mcp config claude-code\n  YURT_SERVER=http://127.0.0.1:8700 yurt mcp",
		Args:    arguments.None,
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			_, err = config.Read(cmd.Flags(), a.Getenv)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveMCP(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "the server that has the sandboxes; also in YURT_SERVER (default: this command itself)")
	f.mcpFlags.add(flags)
	f.log.Add(flags)
	cmd.AddCommand(newMCPConfigCommand(a))
	return cmd
}

func (a *app) serveMCP(ctx context.Context, f mcpCommandFlags) error {
	logger, err := f.log.Logger(a.Stderr)
	if err != nil {
		return err
	}
	if f.off() {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--mcp-tools", "with %s there is nothing to serve; name tools, or leave it out for all", noTools)
	}
	if err := f.check(); err != nil {
		return err
	}
	if address := cmp.Or(f.server, a.ServerFromEnv()); address != "" {
		client, err := a.ClientOf(address)
		if err != nil {
			return err
		}
		return a.speakMCP(ctx, &f.mcpFlags, remote.New(client), logger)
	}
	return a.withPrivateNode(ctx, func(ctx context.Context) error {
		server, err := a.newOwnServer(ctx, &f.mcpFlags, logger)
		if err != nil {
			return cli.InitFailure(err)
		}
		return errors.Join(a.speakOwnMCP(ctx, server, &f.mcpFlags, logger), server.close())
	})
}

// speakMCP serves the agent at standard input until it closes that.
func (a *app) speakMCP(ctx context.Context, f *mcpFlags, of sandboxes, logger *slog.Logger) error {
	server, err := f.server(of, logger, nil, false)
	if err != nil {
		return err
	}
	defer server.Close() // waits for the calls that the agent left
	transport := &mcp.IOTransport{Reader: io.NopCloser(a.Stdin), Writer: &agentOutput{to: a.Stdout, leaving: ctx.Done()}}
	err = server.Run(ctx, transport)
	var coded *yurt.Error
	switch {
	case err == nil, errors.Is(err, io.EOF), ctx.Err() != nil:
		return nil
	case errors.As(err, &coded):
		return err
	default:
		return yurt.Errorf(yurt.CodeMalformedBody, "standard input is not MCP: %w; an agent's program sends one message of JSON-RPC a line, see yurt mcp config", err)
	}
}

// agentOutput is the standard output of yurt mcp. It gives up on an agent that does not read, whose sandboxes would live on with this
// command. One goroutine at a time writes to it.
type agentOutput struct {
	to      io.Writer
	leaving <-chan struct{} // closed once this command is told to end
	err     error           // of the first write that failed: later answers have no reader either
}

// Write implements io.Writer. A write to a pipe cannot be interrupted: the goroutine of one that fails ends with this process.
func (o *agentOutput) Write(data []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	written := make(chan error, 1)
	kept := bytes.Clone(data)
	go func() {
		_, err := o.to.Write(kept)
		written <- err
	}()
	if o.err = o.await(written); o.err != nil {
		return 0, o.err
	}
	return len(data), nil
}

// await waits for the end of a write, for as long as the agent may take.
func (o *agentOutput) await(written <-chan error) error {
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	for leaving := o.leaving; ; {
		select {
		case err := <-written:
			return err
		case <-leaving:
			leaving = nil
			limit.Reset(leaveLimit)
		case <-limit.C:
			return yurt.Errorf(yurt.CodeUnavailable, "the agent does not read its answers; yurt mcp ends, so that no sandbox of it is left")
		}
	}
}

// Close implements io.Closer. Standard output is open until the process ends.
func (*agentOutput) Close() error { return nil }

// newOwnServer makes a controller with a node of its own, which ends with this process.
func (a *app) newOwnServer(ctx context.Context, f *mcpFlags, logger *slog.Logger) (_ *apiServer, err error) {
	s := newAPIServer(logger, f)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	node, err := a.startPrivateNode(ctx)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { node.remove(ctx); return nil })
	if err := s.openStore(ctx, filepath.Join(node.stateDir, "yurt.db")); err != nil {
		return nil, err
	}
	placer := local.New(localNode, node.Executor, logger)
	s.beside = append(s.beside, func(ctx context.Context) error {
		placer.Run(ctx, s.controller.PooledTemplates)
		return nil
	})
	results := keeping.Results{Retention: yurt.ResultRetention, Quota: yurt.Size(yurt.ResultQuota).String(), Space: yurt.Size(yurt.ResultSpace).String()}
	return s, s.join(ctx, placer, keeping.Orphans(fleet.OrphansRefuse), results, &listen.Flags{Address: listen.Default}, &doors.Flags{})
}

// speakOwnMCP serves the agent with the sandboxes of this process, and ends them.
func (a *app) speakOwnMCP(ctx context.Context, s *apiServer, f *mcpFlags, logger *slog.Logger) error {
	group, background := errgroup.WithContext(access.Systemwide(context.WithoutCancel(ctx)))
	background, stop := context.WithCancel(background)
	defer stop()
	for _, task := range s.beside {
		group.Go(func() error { return task(background) })
	}
	var spoken error
	local, done := access.With(ctx, access.Local())
	defer done()
	waited := s.awaitReady(ctx, func() { spoken = a.speakMCP(local, f, s.controller, logger) })
	ending, cancel := context.WithTimeout(access.Systemwide(context.WithoutCancel(ctx)), shutdownLimit)
	defer cancel()
	ended := s.endSessions(ending)
	stop()
	return errors.Join(waited, spoken, ended, group.Wait())
}
