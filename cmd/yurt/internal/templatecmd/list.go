package templatecmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

func newTemplateListCommand(a *app) *cobra.Command {
	var local bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List templates",
		Example: "  yurt template list\n  yurt template list --local",
		Args:    arguments.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listTemplates(cmd.Context(), local) },
	}
	localFlag(cmd, &local)
	return cmd
}

func (a *app) listTemplates(ctx context.Context, local bool) error {
	templates, err := a.templates(ctx, local)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(append([]yurt.Template{}, templates...)) // never null
	}
	rows := make([][]string, len(templates))
	for i, t := range templates {
		rows[i] = []string{
			t.Name, strings.Join(t.Runtimes, ", "), screen.Number(t.Resources.CPU, 2),
			screen.Size(int64(t.Resources.Memory)), string(t.Isolation.Level), string(t.Network.Mode), t.Description,
		}
	}
	a.PrintTable([]string{"name", "runtimes", "cpu", "memory", "isolation", "network", "description"}, rows)
	return nil
}
