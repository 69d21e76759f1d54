package sessioncmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionAttachCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "attach ID [EXECUTION]",
		Short: "Print the output of an execution, past and to come, until it ends",
		Long: `Print the output of an execution so far, and then its further output until it ends. The exit
code of the execution becomes that of this program. Without EXECUTION it is the latest of the
session. The execution goes on when this program is interrupted.`,
		Example: `  execution=$(yurt session exec --detach $id 'sleep 10; echo done')
  yurt session attach $id $execution`,
		Args:              arguments.Between(1, 2, "a session ID and at most one execution"),
		ValidArgsFunction: a.Completes(cli.AllSessions, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.attach(cmd.Context(), args[0], append(args, "")[1])
		},
	}
}

func (a *app) attach(ctx context.Context, sessionID, executionID string) error {
	client, err := a.clientFor(ctx, &sessionID)
	if err != nil {
		return err
	}
	execution, err := client.Execution(ctx, sessionID, executionID)
	if err != nil {
		return err
	}
	show := &cli.Shower{App: a.App, Kind: execution.Kind, Values: true}
	err = client.WatchExecution(ctx, sessionID, execution.ID, 0, func(event yurt.Event) error {
		if event.Type == yurt.EventEnded {
			execution.State, execution.Result = event.Result.State(), event.Result
		}
		return show.Each(event)
	})
	if err != nil {
		return err
	}
	return show.Report(execution)
}

// startInSession begins req, with all of our standard input where stdin is set, and prints
// the id of the execution, to attach to.
func (a *app) startInSession(ctx context.Context, sessionID string, req yurtclient.ExecuteRequest, stdin bool) error {
	if stdin {
		input, err := a.ReadInput("-", yurt.MaxStdinBytes)
		if err != nil {
			return err
		}
		req.Stdin = string(input)
	}
	client, err := a.clientFor(ctx, &sessionID)
	if err != nil {
		return err
	}
	execution, err := client.Start(ctx, sessionID, req)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(execution)
	}
	a.Printf("%s\n", execution.ID)
	return nil
}
