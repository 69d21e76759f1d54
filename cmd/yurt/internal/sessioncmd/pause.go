package sessioncmd

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionPauseCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pause ID",
		Short: "Pause all programs of a session; they keep their memory",
		Long: `Pause all programs of a session. They keep their memory and get no CPU time. The timeouts of
executions and the idle timeout stop too; the lifetime of the session goes on.`,
		Args:              arguments.Between(1, 1, "one session ID"),
		ValidArgsFunction: a.CompleteSession(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeSession(cmd.Context(), args[0], (*yurtclient.Client).PauseSession)
		},
	}
}

func newSessionResumeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "resume ID",
		Short:             "Resume a paused session",
		Args:              arguments.Between(1, 1, "one session ID"),
		ValidArgsFunction: a.CompleteSession(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeSession(cmd.Context(), args[0], (*yurtclient.Client).ResumeSession)
		},
	}
}

// changeSession has the server change a session, and shows its new state.
func (a *app) changeSession(ctx context.Context, id string, change func(*yurtclient.Client, context.Context, string) (yurt.Session, error)) error {
	client, err := a.clientFor(ctx, &id)
	if err != nil {
		return err
	}
	session, err := change(client, ctx, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(session)
	}
	a.Printf("%s %s\n", session.ID, session.State)
	return nil
}

func newSessionProcessesCommand(a *app) *cobra.Command {
	var limit arguments.Limit
	cmd := &cobra.Command{
		Use:               "processes ID",
		Aliases:           []string{"ps"},
		Short:             "List the processes of a session, also those that outlived their execution",
		Args:              arguments.Between(1, 1, "one session ID"),
		ValidArgsFunction: a.CompleteSession(cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.listProcesses(cmd.Context(), args[0], limit) },
	}
	limit.Add(cmd.Flags(), "the first")
	return cmd
}

func (a *app) listProcesses(ctx context.Context, id string, limit arguments.Limit) error {
	client, err := a.clientFor(ctx, &id)
	if err != nil {
		return err
	}
	list, err := client.Processes(ctx, id)
	if err != nil {
		return err
	}
	list = arguments.First(list, limit)
	if a.JSON {
		return a.PrintJSON(list)
	}
	rows := make([][]string, 0, len(list))
	for _, p := range list {
		rows = append(rows, []string{strconv.Itoa(p.PID), p.ExecutionID, p.State, screen.Size(p.MemoryBytes), cli.Printable(strings.Join(p.Args, " "))})
	}
	a.PrintTable([]string{"PID", "execution", "state", "memory", "command"}, rows)
	return nil
}
