package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

func newRuntimeCommand(a *app) *cobra.Command {
	cmd := cli.Parent("runtime", "List the language runtimes, and test them", cli.GroupServer, newRuntimeListCommand(a), newRuntimePrepareCommand(a), newRuntimeTestCommand(a))
	a.AddServerFlag(cmd)
	return cmd
}

func newRuntimeListCommand(a *app) *cobra.Command {
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
	return localRuntimes(ctx)
}
