package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
)

const defaultGrace = 5 * time.Minute

func newNodeDrainCommand(a *app) *cobra.Command {
	grace := yurt.Duration(defaultGrace)
	var undo bool
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Have a node take nothing new, and end what is there after a grace",
		Long: `Have a node take nothing new. The sessions on it are told so in their events, and end
once the grace is over. The node drains until --undo, also when it is started again.`,
		Example:           "  yurt node drain node-1 --grace 10m\n  yurt node drain node-1 --undo",
		Args:              arguments(1, 1, "one node"),
		ValidArgsFunction: a.completes(nodeNames, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.drainNode(cmd.Context(), args[0], grace, undo)
		},
	}
	cmd.Flags().DurationVar((*time.Duration)(&grace), "grace", defaultGrace, "how long the sessions on it may go on")
	cmd.Flags().BoolVar(&undo, "undo", false, "have the node take sessions again, and let those go on that are there")
	cmd.MarkFlagsMutuallyExclusive("grace", "undo")
	return cmd
}

func (a *app) drainNode(ctx context.Context, name string, grace yurt.Duration, undo bool) error {
	client, err := a.client()
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
	if a.json {
		return a.printJSON(drain)
	}
	ends := "-"
	if drain.EndsBy != nil {
		ends = drain.EndsBy.Format(time.RFC3339)
	}
	state := "ready"
	if drain.Draining {
		state = "draining"
	}
	a.printTable([]string{"node", "state", "sessions told", "they end by"}, [][]string{{drain.Node, state, strconv.Itoa(drain.Sessions), ends}})
	return nil
}
