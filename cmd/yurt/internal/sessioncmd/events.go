package sessioncmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionEventsCommand(a *app) *cobra.Command {
	var (
		follow bool
		limit  arguments.Limit
	)
	cmd := &cobra.Command{
		Use:   "events ID",
		Short: "Show how the state of a session changed, and why",
		Long: `Show how the state of a session changed, and why, the newest change last. With --follow further
changes are shown as they come, until the session ends.`,
		Example:           "  yurt session events $id\n  yurt session events $id --follow --json",
		Args:              arguments.Between(1, 1, "one session ID"),
		ValidArgsFunction: a.Completes(cli.AllSessions, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := a.clientFor(cmd.Context(), &args[0])
			if err != nil {
				return err
			}
			if follow {
				return a.followEvents(cmd.Context(), client, args[0])
			}
			return a.listEvents(cmd.Context(), client, args[0], limit)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show further changes as they come")
	limit.Add(cmd.Flags(), "the newest")
	cmd.MarkFlagsMutuallyExclusive("follow", "limit")
	return cmd
}

// followEvents shows each change when it comes, as a line.
func (a *app) followEvents(ctx context.Context, client *yurtclient.Client, id string) error {
	for change, err := range yurtclient.FollowChanges(ctx, client, id, 0) {
		if err != nil {
			return err
		}
		if a.JSON {
			if err := a.PrintJSON(change); err != nil {
				return err
			}
			continue
		}
		row := changeRow(change.Transition)
		a.Printf("%s  %-10s  %s\n", row[0], row[1], row[2])
	}
	return nil
}

func (a *app) listEvents(ctx context.Context, client *yurtclient.Client, id string, limit arguments.Limit) error {
	changes, err := client.SessionEvents(ctx, id)
	if err != nil {
		return err
	}
	changes = arguments.Last(changes, limit)
	if a.JSON {
		return a.PrintJSON(changes)
	}
	rows := make([][]string, len(changes))
	for i, change := range changes {
		rows[i] = changeRow(change)
	}
	a.PrintTable([]string{"time", "state", "reason"}, rows)
	return nil
}

func changeRow(change yurt.Transition) []string {
	return []string{change.At.Local().Format(time.DateTime), string(change.To), change.Reason}
}
