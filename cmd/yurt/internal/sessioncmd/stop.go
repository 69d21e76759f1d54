package sessioncmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionStopCommand(a *app) *cobra.Command {
	var all, yes, forget bool
	cmd := &cobra.Command{
		Use:     "stop ID... | --all",
		Aliases: []string{"rm"},
		Short:   "End sessions and their programs",
		Long: `End sessions and all programs in them, and remove their files. Results stay for a day; with
--delete-results they are removed at once.

With --all every session on the server ends. The command first prints their number and asks for
a confirmation. Without a terminal, as in a script, give --yes.`,
		Example:           "  yurt session stop $id\n  yurt session stop --all --yes",
		ValidArgsFunction: a.CompletesEach(cli.LiveSessions),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case !all:
				return arguments.Between(1, -1, "one session ID or more, or --all")(cmd, args)
			case len(args) > 0:
				return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--all", "it ends every session, and was given with %s; give IDs or --all", strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var options []yurtclient.EndOption
			if forget {
				options = append(options, yurtclient.DeleteResults)
			}
			if all {
				return a.stopAllSessions(cmd.Context(), yes, options...)
			}
			return a.stopSessions(cmd.Context(), args, options...)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "end every session on the server, after a question")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "with --all: end them without a question")
	cmd.Flags().BoolVar(&forget, "delete-results", false, "remove their executions and results at once, also those of sessions that have ended")
	return cmd
}

// stopSessions ends every session that it can before it fails for one that it cannot.
func (a *app) stopSessions(ctx context.Context, ids []string, options ...yurtclient.EndOption) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	ended, failures := []yurt.Session{}, []error{}
	for _, id := range ids {
		session, err := a.stopSession(ctx, client, id, options...)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		ended = append(ended, session)
	}
	if a.JSON {
		if err := a.PrintJSON(ended); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}

func (a *app) stopSession(ctx context.Context, client *yurtclient.Client, written string, options ...yurtclient.EndOption) (yurt.Session, error) {
	id, err := findSession(ctx, client, written)
	if err != nil {
		return yurt.Session{}, err
	}
	session, err := client.EndSession(ctx, id, options...)
	if err == nil && !a.JSON {
		a.Printf("%s %s\n", session.ID, session.State)
	}
	return session, err
}

// stopAllSessions ends the sessions that there are when it is called, and not those that
// others create meanwhile.
func (a *app) stopAllSessions(ctx context.Context, yes bool, options ...yurtclient.EndOption) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	sessions, err := findSessions(ctx, client, yurtclient.SessionFilter{Live: true}, 0)
	if err != nil {
		return err
	}
	if len(sessions) > 0 && !yes {
		confirmed, err := a.confirm(ctx, fmt.Sprintf("End %s on %s?", screen.Count(len(sessions), "session", "sessions"), a.Server))
		if err != nil {
			return err
		}
		if !confirmed {
			fmt.Fprintln(a.Stderr, "yurt: no session was ended")
			return cli.ExitError(yurt.ExitError)
		}
	}
	if len(sessions) == 0 && !a.JSON {
		a.Printf("no sessions\n")
		return nil
	}
	ids := make([]string, len(sessions))
	for i, session := range sessions {
		ids[i] = session.ID
	}
	return a.stopSessions(ctx, ids, options...)
}

// confirm asks a person at a terminal, and reports whether the answer is yes.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	keys, ok := a.Stdin.(*os.File)
	if !ok || !isatty.IsTerminal(keys.Fd()) {
		return false, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--yes", "there is no terminal to ask at; give --yes to answer %q", question)
	}
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	answers := make(chan string, 1)
	go func() { // ends with the process, at the latest: a read of a terminal cannot be called off
		line, err := bufio.NewReader(keys).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = ""
		}
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-answers:
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
