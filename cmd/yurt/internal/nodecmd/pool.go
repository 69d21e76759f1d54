package nodecmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

// NewPool makes the commands that list warm pools and change their sizes.
func NewPool(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := cli.Parent("pool", "List the warm pools of templates, and change their sizes", cli.GroupServer, newPoolListCommand(a), newPoolSetCommand(a), newPoolUnsetCommand(a))
	a.AddServerFlag(cmd)
	return cmd
}

func newPoolListCommand(a *app) *cobra.Command {
	var limit arguments.Limit
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the warm pools with their sizes, hit rates and refill times",
		Args:    arguments.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listPools(cmd.Context(), limit) },
	}
	limit.Add(cmd.Flags(), "the first")
	return cmd
}

func (a *app) listPools(ctx context.Context, limit arguments.Limit) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	pools, err := client.Pools(ctx)
	if err != nil {
		return err
	}
	pools = arguments.First(pools, limit)
	if a.JSON {
		return a.PrintJSON(append([]yurt.Pool{}, pools...)) // never null
	}
	a.printPools(pools...)
	return nil
}

func (a *app) printPools(pools ...yurt.Pool) {
	rows := make([][]string, len(pools))
	for i, p := range pools {
		claims := p.Hits + p.Misses
		rate := "-"
		if claims > 0 {
			rate = strconv.FormatFloat(100*p.HitRate, 'f', 0, 64) + "% of " + strconv.FormatInt(claims, 10)
		}
		refill := "-"
		if p.Refills > 0 {
			refill = cli.InMS(p.RefillMS)
		}
		rows[i] = []string{
			p.Template, strconv.Itoa(p.Min), strconv.Itoa(p.Max), strconv.Itoa(p.Target), strconv.Itoa(p.Ready), strconv.Itoa(p.Pending), rate, refill, p.Failure,
		}
	}
	a.PrintTable([]string{"template", "min", "max", "target", "ready", "pending", "hits", "refill", "failure"}, rows)
}

func newPoolSetCommand(a *app) *cobra.Command {
	var size yurt.PoolSize
	cmd := &cobra.Command{
		Use:   "set TEMPLATE",
		Short: "Change the size of a template's warm pool",
		Long: `Change the size of a template's warm pool. The server keeps --min sandboxes ready, and up to
--max when there are many requests. A flag that you leave out keeps its value. A --min above the
maximum raises the maximum to twice --min. With 0 for both the pool keeps no sandbox.`,
		Example:           "  yurt pool set python-basic --min 2 --max 10\n  yurt pool set python-basic --min 3",
		Args:              arguments.Between(1, 1, "one template"),
		ValidArgsFunction: a.Completes(cli.TemplateNames, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			var change yurt.PoolChange
			if cmd.Flags().Changed("min") {
				change.Min = &size.Min
			}
			if cmd.Flags().Changed("max") {
				change.Max = &size.Max
			}
			return a.setPool(cmd.Context(), args[0], change)
		},
	}
	cmd.Flags().IntVar(&size.Min, "min", 0, "how many are always kept ready, 0 to 100")
	cmd.Flags().IntVar(&size.Max, "max", 0, "how many are ready at most under demand, up to 100")
	return cmd
}

func (a *app) setPool(ctx context.Context, template string, change yurt.PoolChange) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	pool, err := client.SetPool(ctx, template, change)
	return a.showPool(pool, err)
}

func (a *app) showPool(pool yurt.Pool, err error) error {
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(pool)
	}
	a.printPools(pool)
	return nil
}

func newPoolUnsetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "unset TEMPLATE",
		Short:             "Give a template's warm pool the size in the template again",
		Example:           "  yurt pool unset python-basic",
		Args:              arguments.Between(1, 1, "one template"),
		ValidArgsFunction: a.Completes(cli.TemplateNames, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := a.Client()
			if err != nil {
				return err
			}
			pool, err := client.UnsetPool(cmd.Context(), args[0])
			return a.showPool(pool, err)
		},
	}
}
