package main

import (
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cacmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
)

func newRootCommand(a *app) *cobra.Command {
	a.servers = config.Servers{}
	root := &cobra.Command{
		Use:   "yurt",
		Short: "Run untrusted code in sandboxes",
		Long: `Yurt runs untrusted code in sandboxes.

Try it with no server:      yurt run handler.py --event '{"name": "world"}'
Serve the REST API:         yurt dev
Check this host:            yurt doctor`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run code:"},
		&cobra.Group{ID: groupServer, Title: "Use a server:"},
		&cobra.Group{ID: groupHost, Title: "Look after this host:"},
	)
	root.AddCommand(
		newRunCommand(a),
		newDevCommand(a),
		newControllerCommand(a),
		newMCPCommand(a),
		newSessionCommand(a),
		newTemplateCommand(a),
		newPoolCommand(a),
		newNodeCommand(a),
		newKeyCommand(a),
		newTenantCommand(a),
		newUsageCommand(a),
		newAuditCommand(a),
		newRuntimeCommand(a),
		newDoctorCommand(a),
		newExecutorCommand(a),
		newConfigCommand(a),
		parent("ca", "Make the certificates that executors and controllers authenticate with", groupHost, cacmd.New(a.terminal())...),
		newVersionCommand(a),
	)
	return a.finish(root)
}

// The groups that the help text lists commands in.
const (
	groupRun    = "run"
	groupServer = "server"
	groupHost   = "host"
)

// finish sets the options that every top command has.
func (a *app) finish(top *cobra.Command) *cobra.Command {
	top.SilenceErrors = true // report prints them
	top.SilenceUsage = true
	top.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON, errors included")
	top.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.json = a.json || a.asksForJSON() // parsing stopped before it came to --json
		return yurt.Errorf(yurt.CodeInvalidArgument, "%s; see %q", err.Error(), cmd.CommandPath()+" --help")
	})
	return top
}

// parent makes a command that only holds others.
func parent(use, short, group string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, GroupID: group, Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}
