package main

import (
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/auditcmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/brokered"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cacmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/containercmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keycmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/nodecmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/runtimecmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/sessioncmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/templatecmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/tenantcmd"
)

// app has the streams and flags that all commands share, the part of this process, and the settings of a server that runs.
type app struct {
	*cli.App
	executor *brokered.Executor // nil in other processes
	settings *config.Settings
	servers  config.Servers
}

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
		&cobra.Group{ID: cli.GroupRun, Title: "Run code:"},
		&cobra.Group{ID: cli.GroupServer, Title: "Use a server:"},
		&cobra.Group{ID: cli.GroupHost, Title: "Look after this host:"},
	)
	root.AddCommand(
		newRunCommand(a),
		newDevCommand(a),
		newControllerCommand(a),
		newMCPCommand(a),
		sessioncmd.New(a.App),
		templatecmd.New(a.App),
		nodecmd.NewPool(a.App),
		nodecmd.New(a.App),
		containercmd.New(a.App),
		newKeyCommand(a),
		newTenantCommand(a),
		newUsageCommand(a),
		newAuditCommand(a),
		runtimecmd.New(a.App, runtimeHost{a}),
		newDoctorCommand(a),
		newExecutorCommand(a),
		newConfigCommand(a),
		cli.Parent("ca", "Make the certificates that executors and controllers authenticate with", cli.GroupHost, cacmd.New(a.Terminal())...),
		newVersionCommand(a),
		newRemoveKilledCommand(),
	)
	return a.finish(root)
}

// finish sets the options that every top command has.
func (a *app) finish(top *cobra.Command) *cobra.Command {
	top.SilenceErrors = true // report prints them
	top.SilenceUsage = true
	top.PersistentFlags().BoolVar(&a.JSON, "json", false, "print JSON, errors included")
	top.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.JSON = a.JSON || a.AsksForJSON() // parsing stopped before it came to --json
		return yurt.Errorf(yurt.CodeInvalidArgument, "%s; see %q", err.Error(), cmd.CommandPath()+" --help")
	})
	return top
}

func newKeyCommand(a *app) *cobra.Command {
	cmd := cli.Parent("key", "Create, list and revoke API keys", cli.GroupServer, keycmd.New(a.Terminal())...)
	a.AddServerFlag(cmd)
	return cmd
}

func newTenantCommand(a *app) *cobra.Command {
	cmd := cli.Parent("tenant", "Set and show the quotas of tenants", cli.GroupServer, tenantcmd.New(a.Terminal())...)
	a.AddServerFlag(cmd)
	return cmd
}

func newUsageCommand(a *app) *cobra.Command {
	cmd := tenantcmd.NewUsage(a.Terminal(), cli.GroupServer)
	a.AddServerFlag(cmd)
	return cmd
}

func newAuditCommand(a *app) *cobra.Command {
	cmd := auditcmd.New(a.Terminal(), cli.GroupServer)
	a.AddServerFlag(cmd)
	return cmd
}
