package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

func newNodeCommand(a *app) *cobra.Command {
	cmd := parent("node", "List the nodes that run sandboxes, and drain them", groupServer, newNodeListCommand(a), newNodeDrainCommand(a))
	a.addServerFlag(cmd)
	return cmd
}

func newNodeListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the nodes with their state, warm sandboxes and free room",
		Args:    arguments.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listNodes(cmd.Context()) },
	}
}

func (a *app) listNodes(ctx context.Context) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(append([]yurt.NodeInfo{}, nodes...)) // never null
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
			n.Name, nodeState(n), strconv.Itoa(warm), strconv.Itoa(n.Claimed) + " of " + strconv.Itoa(n.Slots), free, promised, cmp.Or(n.Address, "-"),
		}
	}
	a.printTable([]string{"name", "state", "warm", "claimed", "free", "promised", "address"}, rows)
	return nil
}

// nodeState is the node's own state, and Nomad's where that differs: a node whose client of
// Nomad is away serves its sandboxes, and gets no new ones.
func nodeState(n yurt.NodeInfo) string {
	state := "ready"
	switch {
	case !n.Healthy:
		state = "down"
	case n.Draining:
		state = "draining"
	}
	if n.NomadStatus != "" {
		state += ", Nomad: " + n.NomadStatus
	}
	return state
}
