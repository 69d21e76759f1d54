package cli

import (
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
)

// The groups that the help text lists commands in.
const (
	GroupRun    = "run"
	GroupServer = "server"
	GroupHost   = "host"
)

// Parent makes a command that only holds others.
func Parent(use, short, group string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, GroupID: group, Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}
