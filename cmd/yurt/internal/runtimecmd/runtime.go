// Package runtimecmd has the commands that list language runtimes, prepare them and test them.
package runtimecmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

// Host runs language runtimes on this machine.
type Host interface {
	// Runtimes lists the runtimes that lie beside this binary.
	Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error)
	// Do has do called in a process that may start a node with the runtime at the path alone, this one or a child of it.
	Do(ctx context.Context, path string, do func(context.Context) error) error
	// Start starts that node. The caller removes it.
	Start(ctx context.Context) (Node, error)
}

// Node runs executions in sandboxes, which end with it.
type Node interface {
	CreateSandbox(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error)
	StartExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) error
	WaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error)
	Remove(ctx context.Context)
}

// app has the parts that the commands share.
type app struct {
	*cli.App
	host Host
}

// New makes the commands.
func New(shared *cli.App, host Host) *cobra.Command {
	a := &app{shared, host}
	cmd := cli.Parent("runtime", "List the language runtimes, and test them", cli.GroupServer, newListCommand(a), newPrepareCommand(a), newTestCommand(a))
	a.AddServerFlag(cmd)
	return cmd
}

func newListCommand(a *app) *cobra.Command {
	var (
		local bool
		limit arguments.Limit
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the language runtimes that are installed",
		Example: "  yurt runtime list\n  yurt runtime list --local",
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			runtimes, err := a.runtimes(cmd.Context(), local)
			if err != nil {
				return err
			}
			return a.printRuntimes(arguments.First(runtimes, limit))
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "list the runtimes beside this binary, without a server")
	limit.Add(cmd.Flags(), "the first")
	return cmd
}

func (a *app) printRuntimes(runtimes []yurt.RuntimeInfo) error {
	if a.JSON {
		return a.PrintJSON(append([]yurt.RuntimeInfo{}, runtimes...)) // never null
	}
	rows := make([][]string, len(runtimes))
	for i, r := range runtimes {
		rows[i] = []string{
			r.Name, r.Version, strings.Join(r.Languages, ", "), strings.Join(r.Extensions, ", "), strings.Join(r.Abilities, ", "), strings.Join(r.Kernels, ", "),
		}
	}
	a.PrintTable([]string{"name", "version", "languages", "extensions", "can run", "other kernels"}, rows)
	return nil
}

func (a *app) runtimes(ctx context.Context, local bool) ([]yurt.RuntimeInfo, error) {
	if !local {
		client, err := a.Client()
		if err != nil {
			return nil, err
		}
		return client.Runtimes(ctx)
	}
	return a.host.Runtimes(ctx)
}
