package templatecmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

func newTemplatePrepareCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "prepare NAME",
		Short: "Install the packages of a template on the nodes",
		Long: `Install the packages of a template, and pull its image, on each node that can run it. Otherwise
a node does so for the first session of the template, and that session waits.

The output of the package managers goes to standard error, and with several nodes a line when
each is ready. The other nodes go on when one fails.`,
		Example:           "  yurt template prepare data",
		ValidArgsFunction: a.Completes(cli.TemplateNames, cobra.ShellCompDirectiveNoFileComp),
		Args:              arguments.Between(1, 1, "one template NAME"),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.prepareTemplate(cmd.Context(), args[0]) },
	}
}

func (a *app) prepareTemplate(ctx context.Context, name string) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	wait := a.Wait("waiting for the nodes to install the packages of " + name)
	nodes, err := client.PrepareTemplate(ctx, name, func(text string) error {
		_, err := wait.Write(a.Stderr, []byte(text))
		return err
	})
	wait.End()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(nodes)
	}
	a.Printf("%s is ready on %s\n", name, screen.Count(len(nodes), "node", "nodes"))
	return nil
}
