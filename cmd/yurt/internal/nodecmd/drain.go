package nodecmd

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

const defaultGrace = 5 * time.Minute

func newNodeDrainCommand(a *app) *cobra.Command {
	grace := yurt.Duration(defaultGrace)
	var undo bool
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Let a node take no new sessions, and end its sessions after a grace period",
		Long: `Let a node take no new sessions. An event tells the sessions on it, and they end when the grace
period is over. The node drains until --undo, even over a restart.`,
		Example:           "  yurt node drain node-1 --grace 10m\n  yurt node drain node-1 --undo",
		Args:              arguments.Between(1, 1, "one node"),
		ValidArgsFunction: a.Completes(cli.NodeNames, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.drainNode(cmd.Context(), args[0], grace, undo)
		},
	}
	cmd.Flags().DurationVar((*time.Duration)(&grace), "grace", defaultGrace, "how long the sessions on it may continue")
	cmd.Flags().BoolVar(&undo, "undo", false, "let the node take sessions again, and its sessions continue")
	cmd.MarkFlagsMutuallyExclusive("grace", "undo")
	return cmd
}

func (a *app) drainNode(ctx context.Context, name string, grace yurt.Duration, undo bool) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	var drain yurt.Drain
	if undo {
		drain, err = client.UndrainNode(ctx, name)
	} else {
		drain, err = client.DrainNode(ctx, name, grace)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(drain)
	}
	ends := "-"
	if drain.EndsBy != nil {
		ends = drain.EndsBy.Format(time.RFC3339)
	}
	state := "ready"
	if drain.Draining {
		state = "draining"
	}
	a.PrintTable([]string{"node", "state", "sessions", "end by"}, [][]string{{drain.Node, state, strconv.Itoa(drain.Sessions), ends}})
	return nil
}
