package templatecmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/hcl"
)

func newTemplateShowCommand(a *app) *cobra.Command {
	var local bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one template, complete with its defaults",
		Long: `Show one template as HCL, complete with its defaults. To make a template of your own, save the
output to a file and change it.`,
		Example:           "  yurt template show python-basic\n  yurt template show --local shell-basic > mine.hcl",
		Args:              arguments.Between(1, 1, "one template NAME"),
		ValidArgsFunction: a.Completes(cli.TemplateNames, cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.showTemplate(cmd.Context(), args[0], local) },
	}
	localFlag(cmd, &local)
	return cmd
}

func (a *app) showTemplate(ctx context.Context, name string, local bool) error {
	template, err := a.template(ctx, name, local)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(template)
	}
	a.Printf("%s", hcl.Encode(template))
	return nil
}

func (a *app) template(ctx context.Context, name string, local bool) (yurt.Template, error) {
	if local {
		return cli.FindTemplate(name, "", &hcl.Parser{})
	}
	client, err := a.Client()
	if err != nil {
		return yurt.Template{}, err
	}
	return client.Template(ctx, name)
}
