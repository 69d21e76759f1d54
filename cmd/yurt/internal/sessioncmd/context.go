package sessioncmd

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionContextCommand(a *app) *cobra.Command {
	cmd := cli.Parent("context", "See and restart the interpreters that keep a session's variables", "",
		newContextListCommand(a),
		newContextChangeCommand(a, "restart", "restarted", (*yurtclient.Client).RestartContext, &cobra.Command{
			Short: "Give a context a fresh interpreter",
			Long: `Give a context a fresh interpreter. Its variables are lost. The execution that runs in it ends,
and those that wait run in the fresh interpreter.`,
		}),
		newContextChangeCommand(a, "rm", "removed", (*yurtclient.Client).RemoveContext, &cobra.Command{
			Aliases: []string{"remove"},
			Short:   "Remove a context, and end the executions that run or wait in it",
		}),
	)
	return cmd
}

func newContextListCommand(a *app) *cobra.Command {
	var limit arguments.Limit
	cmd := &cobra.Command{
		Use:               "list ID",
		Aliases:           []string{"ls"},
		Short:             "List the contexts of a session",
		Args:              arguments.Between(1, 1, "one session ID"),
		ValidArgsFunction: a.CompleteSession(cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.listContexts(cmd.Context(), args[0], limit) },
	}
	limit.Add(cmd.Flags(), "the first")
	return cmd
}

func (a *app) listContexts(ctx context.Context, sessionID string, limit arguments.Limit) error {
	client, err := a.clientFor(ctx, &sessionID)
	if err != nil {
		return err
	}
	list, err := client.Contexts(ctx, sessionID)
	if err != nil {
		return err
	}
	list = arguments.First(list, limit)
	if a.JSON {
		return a.PrintJSON(list)
	}
	now := time.Now()
	rows := make([][]string, len(list))
	for i, c := range list {
		rows[i] = []string{c.Name, c.Language, string(c.State), strconv.Itoa(c.Executions), strconv.Itoa(c.Queued), screen.Ago(c.CreatedAt, now)}
	}
	a.PrintTable([]string{"name", "language", "state", "executions", "waiting", "age"}, rows)
	return nil
}

// changeContext is a client's operation on a context.
type changeContext func(c *yurtclient.Client, ctx context.Context, sessionID, name, language string) error

// newContextChangeCommand completes cmd, which changes a context and prints its new state.
func newContextChangeCommand(a *app, verb, done string, change changeContext, cmd *cobra.Command) *cobra.Command {
	var language string
	cmd.Use = verb + " ID NAME"
	cmd.Args = arguments.Between(2, 2, "a session ID and the name of a context")
	cmd.ValidArgsFunction = a.CompleteSession(cobra.ShellCompDirectiveNoFileComp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := a.clientFor(cmd.Context(), &args[0])
		if err != nil {
			return err
		}
		if err := change(client, cmd.Context(), args[0], args[1], language); err != nil {
			return err
		}
		if !a.JSON {
			a.Printf("%s %s\n", args[1], done)
		}
		return nil
	}
	cmd.Flags().StringVarP(&language, "language", "l", "", "only the context of this language (default: each of the name)")
	a.CompletesFlag(cmd, "language", cli.LanguageNames)
	return cmd
}
