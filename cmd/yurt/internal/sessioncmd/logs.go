package sessioncmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionLogsCommand(a *app) *cobra.Command {
	var follow bool
	var tail string
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Show the output of the executions of a session, the newest last",
		Long: `Show the output of the executions of a session, the newest last: their stdout on stdout and
their stderr on stderr. With --follow further output is shown until the session ends.`,
		Example:           "  yurt session logs $id --tail 4Ki\n  yurt session logs $id --follow",
		Args:              arguments.Between(1, 1, "one session ID"),
		ValidArgsFunction: a.Completes(cli.AllSessions, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := yurt.ParseSize(tail)
			if err != nil {
				return yurt.FieldErrorf(yurt.CodeOf(err), "--tail", "%w", err)
			}
			if limit < 1 || limit > yurt.MaxLogBytes {
				return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--tail", "%s is out of range; give 1 to %s", limit, yurt.Size(yurt.MaxLogBytes))
			}
			return a.showLogs(cmd.Context(), args[0], int(limit), follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show further output as it comes")
	cmd.Flags().StringVar(&tail, "tail", yurt.Size(yurt.DefaultLogBytes).String(), "how much past output to show, at most")
	return cmd
}

// loggedEntry is an entry as --json shows it.
type loggedEntry struct {
	yurt.LogEntry
	Data string `json:"data"`
}

func (a *app) showLogs(ctx context.Context, id string, limit int, follow bool) error {
	client, err := a.clientFor(ctx, &id)
	if err != nil {
		return err
	}
	show := func(e yurt.LogEntry) error {
		if a.JSON {
			return a.PrintJSON(loggedEntry{e, string(e.Data)})
		}
		return a.PassOn(yurt.Event{Type: e.Type, Data: e.Data})
	}
	if follow {
		return client.FollowLogs(ctx, id, limit, show)
	}
	return a.listLogs(ctx, client, id, limit, show)
}

func (a *app) listLogs(ctx context.Context, client *yurtclient.Client, id string, limit int, show func(yurt.LogEntry) error) error {
	entries, truncated, err := client.Logs(ctx, id, limit)
	if err != nil {
		return err
	}
	if a.JSON {
		list := make([]loggedEntry, len(entries))
		for i, e := range entries {
			list[i] = loggedEntry{e, string(e.Data)}
		}
		return a.PrintJSON(list)
	}
	if truncated {
		fmt.Fprintln(a.Stderr, "yurt: there was more before; --tail shows more of it")
	}
	for _, e := range entries {
		if err := show(e); err != nil {
			return err
		}
	}
	return nil
}
