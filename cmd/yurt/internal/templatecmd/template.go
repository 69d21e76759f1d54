package templatecmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/hcl"
)

// New makes the commands that check template files and manage the templates of a server.
func New(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := cli.Parent("template", "Check template files, push them to a server, and list its templates", cli.GroupServer,
		newTemplateValidateCommand(a),
		newTemplateListCommand(a),
		newTemplateShowCommand(a),
		newTemplatePushCommand(a),
		newTemplatePrepareCommand(a),
		newTemplateRmCommand(a),
	)
	a.AddServerFlag(cmd)
	return cmd
}

// localFlag is how list and show are told to ask no server.
func localFlag(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "local", false, "list the templates built into this binary, without a server")
}

func (a *app) templates(ctx context.Context, local bool) ([]yurt.Template, error) {
	if local {
		return hcl.Defaults()
	}
	client, err := a.Client()
	if err != nil {
		return nil, err
	}
	return client.Templates(ctx)
}
