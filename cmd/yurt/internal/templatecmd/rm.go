package templatecmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

func newTemplateRmCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME...",
		Aliases: []string{"delete"},
		Short:   "Delete templates from a server",
		Long: `Delete templates from a server, and empty their warm pools. Running sessions keep their
template. Delete templates that extend another before that one. Built-in templates cannot be
deleted.`,
		Example:           "  yurt template rm data",
		ValidArgsFunction: a.CompletesEach(cli.TemplateNames),
		Args:              arguments.Between(1, -1, "one template NAME or more"),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.removeTemplates(cmd.Context(), args) },
	}
}

// removeTemplates deletes every template that it can before it fails for one that it cannot.
func (a *app) removeTemplates(ctx context.Context, names []string) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	deleted, failures := []string{}, []error{}
	for _, name := range names {
		if err := client.DeleteTemplate(ctx, name); err != nil {
			failures = append(failures, err)
			continue
		}
		deleted = append(deleted, name)
		if !a.JSON {
			a.Printf("%s deleted\n", name)
		}
	}
	if a.JSON {
		if err := a.PrintJSON(deleted); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}
