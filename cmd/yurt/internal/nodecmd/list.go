package nodecmd

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

// New makes the commands that list the nodes of a server and drain them.
func New(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := cli.Parent("node", "List the nodes that run sandboxes, and drain them", cli.GroupServer, newNodeListCommand(a), newNodeDrainCommand(a))
	a.AddServerFlag(cmd)
	return cmd
}

func newNodeListCommand(a *app) *cobra.Command {
	var limit arguments.Limit
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the nodes with their state, warm sandboxes and free room",
		Args:    arguments.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listNodes(cmd.Context(), limit) },
	}
	limit.Add(cmd.Flags(), "the first")
	return cmd
}

func (a *app) listNodes(ctx context.Context, limit arguments.Limit) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return err
	}
	nodes = arguments.First(nodes, limit)
	if a.JSON {
		return a.PrintJSON(append([]yurt.NodeInfo{}, nodes...)) // never null
	}
	rows := make([][]string, len(nodes))
	for i, n := range nodes {
		warm := 0
		for _, count := range n.Warm {
			warm += count
		}
		free := "-"
		if n.Free.Memory > 0 {
			free = screen.Number(n.Free.CPU, 2) + " CPU, " + screen.Size(int64(n.Free.Memory))
		}
		promised := "-"
		if n.Memory.Promisable > 0 {
			promised = screen.Size(int64(n.Memory.Promised)) + " of " + screen.Size(int64(n.Memory.Promisable))
		}
		rows[i] = []string{
			n.Name, cli.NodeState(n), strconv.Itoa(warm), strconv.Itoa(n.Claimed) + " of " + strconv.Itoa(n.Slots), free, promised, cmp.Or(n.Address, "-"),
		}
	}
	a.PrintTable([]string{"name", "state", "warm", "claimed", "free", "promised", "address"}, rows)
	return nil
}
