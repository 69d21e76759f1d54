package sessioncmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionCancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID [EXECUTION]",
		Short: "End an execution, and leave its session as it is",
		Long: `Interrupt an execution, and kill it if it has not ended five seconds later. Without
EXECUTION it is the latest of the session that runs, or waits for its turn.

Its output until then is kept. In a context, an interrupt keeps the variables.`,
		Example: `  execution=$(yurt session exec --detach $id 'sleep 1000')
  yurt session cancel $id $execution
  yurt session cancel $id`,
		Args:              arguments.Between(1, 2, "a session ID and at most one execution"),
		ValidArgsFunction: a.CompleteSession(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.cancelExecution(cmd.Context(), args[0], append(args, "")[1])
		},
	}
}

func (a *app) cancelExecution(ctx context.Context, sessionID, executionID string) error {
	client, err := a.clientFor(ctx, &sessionID)
	if err != nil {
		return err
	}
	if executionID == "" {
		if executionID, err = latestRunning(ctx, client, sessionID); err != nil {
			return err
		}
	}
	execution, err := client.CancelExecution(ctx, sessionID, executionID)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(execution)
	}
	a.Printf("%s cancelled\n", execution.ID)
	return nil
}

// latestRunning returns the latest execution of a session that has not ended.
func latestRunning(ctx context.Context, client *yurtclient.Client, sessionID string) (string, error) {
	for e, err := range yurtclient.EachExecution(ctx, client, sessionID, yurtclient.ExecutionFilter{}) {
		if err != nil {
			return "", err
		}
		if !e.State.Ended() {
			return e.ID, nil
		}
	}
	return "", yurt.Errorf(yurt.CodeExecutionNotFound, "session %s has no execution that runs", sessionID)
}
