package sessioncmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionShellCommand(a *app) *cobra.Command {
	var req yurtclient.TerminalRequest
	cmd := &cobra.Command{
		Use:   "shell [flags] ID [LINE]",
		Short: "Open a terminal in a session",
		Long: `Open a terminal in a session, with its shell or with the command LINE. The terminal has the size
of this one, and the exit code becomes that of this program.

A hangup ends the programs in the terminal when this program is ended. They go on when the
connection breaks, and --attach connects to them again. They show all of their output then,
or with --after only the newer output.`,
		Example: `  yurt session shell $id
  yurt session shell $id python3
  yurt session shell $id --attach $execution`,
		Args:              arguments.Between(1, 2, "a session ID and at most one line for the shell"),
		ValidArgsFunction: a.CompleteSession(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				req.Command = args[1]
			}
			return a.runShell(cmd.Context(), args[0], req)
		},
	}
	cmd.Flags().StringVar(&req.Cwd, "cwd", "", "directory to run in (default "+yurt.WorkspaceDir+")")
	cmd.Flags().StringVar(&req.ExecutionID, "attach", "", "the execution whose terminal to connect to again")
	cmd.Flags().Uint64Var(&req.After, "after", 0, "with --attach: the number that was told when the connection broke, after whose output to go on")
	return cmd
}

func (a *app) runShell(ctx context.Context, sessionID string, req yurtclient.TerminalRequest) error {
	client, err := a.clientFor(ctx, &sessionID)
	if err != nil {
		return err
	}
	keys, ok := a.Stdin.(*os.File)
	if !ok {
		return yurt.Errorf(yurt.CodeInvalidArgument, "a terminal needs a standard input that is a file or a terminal")
	}
	req.Size = windowSize(keys)
	terminal, err := client.OpenTerminal(ctx, sessionID, req)
	if err != nil {
		return err
	}
	defer terminal.Close()
	if req.ExecutionID != "" && req.Size.Rows != 0 {
		if err := terminal.Resize(ctx, req.Size); err != nil {
			return fmt.Errorf("resizing the terminal: %w", err)
		}
	}
	restore, err := makeRaw(keys)
	if err != nil {
		return err
	}
	exit, err := a.relay(ctx, terminal, keys)
	restore()
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), terminal.HangUp())
	case yurt.CodeOf(err) == yurt.CodeUnavailable:
		return fmt.Errorf("%w; connect to it again by \"yurt session shell %s --attach %s --after %d\"", err, sessionID, terminal.ExecutionID, terminal.Last())
	case err != nil:
		return err
	case exit.Error != nil && exit.Error.Type != yurt.ErrorTypeSignaled:
		fmt.Fprintln(a.Stderr, "yurt: "+exit.Error.Type+": "+exit.Error.Message)
	}
	if exit.Code != 0 {
		return cli.ExitError(exit.Code)
	}
	return nil
}

// windowSize returns the size of the terminal that a file is, or zero if it is no terminal.
func windowSize(file *os.File) yurtclient.TerminalSize {
	cols, rows, err := term.GetSize(int(file.Fd()))
	if err != nil || cols > yurt.MaxTerminalSide || rows > yurt.MaxTerminalSide {
		return yurtclient.TerminalSize{}
	}
	return yurtclient.TerminalSize{Rows: uint16(rows), Cols: uint16(cols)}
}

// makeRaw has each key handed on as it is, Ctrl-C too, until restore is called.
func makeRaw(file *os.File) (restore func(), err error) {
	fd := int(file.Fd())
	if !term.IsTerminal(fd) {
		return func() {}, nil
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	return func() { _ = term.Restore(fd, before) }, nil // or it has gone
}

// relay joins our terminal and the one in the sandbox until that ends.
func (a *app) relay(ctx context.Context, terminal *yurtclient.Terminal, keys *os.File) (*yurtclient.Exit, error) {
	ended, end, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	defer ended.Close()
	ctx, cancel := context.WithCancel(ctx)
	var relaying sync.WaitGroup
	defer relaying.Wait()
	defer cancel()
	defer end.Close() // which ends the typing
	relaying.Go(func() { typeKeys(ctx, terminal, keys, ended) })
	relaying.Go(func() { followSize(ctx, terminal, keys) })
	for {
		data, exit, err := terminal.Next(ctx)
		if err != nil {
			return nil, err
		}
		if exit != nil {
			return exit, nil
		}
		if _, err := a.Stdout.Write(data); err != nil {
			return nil, fmt.Errorf("showing the terminal: %w", err)
		}
	}
}

// endOfInput is the character of Ctrl-D.
const endOfInput = "\x04"

// typeKeys hands on the typed keys, until ended is readable or the terminal takes no more.
func typeKeys(ctx context.Context, terminal *yurtclient.Terminal, keys, ended *os.File) {
	err := cli.Pump(keys, ended, func(data []byte) error { return terminal.Write(ctx, data) })
	if errors.Is(err, io.EOF) {
		_ = terminal.Write(ctx, []byte(endOfInput)) // or it has gone
	}
}

// followSize gives the terminal the size of ours as it changes.
func followSize(ctx context.Context, terminal *yurtclient.Terminal, keys *os.File) {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	defer signal.Stop(changes)
	for {
		select {
		case <-changes:
			if size := windowSize(keys); size.Rows != 0 && terminal.Resize(ctx, size) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
