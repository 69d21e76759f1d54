package sessioncmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

func newSessionLogsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Show the output of the executions of a session, the newest last",
		Long: `Show the output of the executions of a session, the newest last: their stdout on stdout and
their stderr on stderr. With --follow further output is shown until the session ends.`,
		Example:           "  yurt session logs $id --tail 4Ki\n  yurt session logs $id --follow",
		Args:              arguments.Between(1, 1, "one session ID"),
		ValidArgsFunction: a.Completes(cli.AllSessions, cobra.ShellCompDirectiveNoFileComp),
	}
	return a.ShowsLog(cmd, func(ctx context.Context, id string) (cli.Log, error) {
		client, err := a.clientFor(ctx, &id)
		return cli.Log{
			Read: func(ctx context.Context, limit int) ([]yurt.LogEntry, bool, error) {
				return client.Logs(ctx, id, limit)
			},
			Follow: func(ctx context.Context, limit int, each func(yurt.LogEntry) error) error {
				return client.FollowLogs(ctx, id, limit, each)
			},
		}, err
	})
}
