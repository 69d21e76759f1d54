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
	var (
		local bool
		limit arguments.Limit
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List templates",
		Example: "  yurt template list\n  yurt template list --local",
		Args:    arguments.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listTemplates(cmd.Context(), local, limit) },
	}
	localFlag(cmd, &local)
	limit.Add(cmd.Flags(), "the first")
	return cmd
}

func (a *app) listTemplates(ctx context.Context, local bool, limit arguments.Limit) error {
	templates, err := a.templates(ctx, local)
	if err != nil {
		return err
	}
	templates = arguments.First(templates, limit)
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
