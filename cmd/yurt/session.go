package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/auditcmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keycmd"
	"github.com/yurtrun/yurt/cmd/yurt/internal/listen"
	"github.com/yurtrun/yurt/cmd/yurt/internal/tenantcmd"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// defaultServer is where yurt dev listens.
const defaultServer = "http://" + listen.Default

func newSessionCommand(a *app) *cobra.Command {
	cmd := parent("session", "Create sessions on a server, and run things in them", groupServer,
		newSessionCreateCommand(a),
		newSessionListCommand(a),
		newSessionShowCommand(a),
		newSessionExecCommand(a),
		newSessionCodeCommand(a),
		newSessionContextCommand(a),
		newSessionCompleteCommand(a),
		newSessionInspectCommand(a),
		newSessionCpCommand(a),
		newSessionAttachCommand(a),
		newSessionCancelCommand(a),
		newSessionShellCommand(a),
		newSessionLogsCommand(a),
		newSessionProcessesCommand(a),
		newSessionPauseCommand(a),
		newSessionResumeCommand(a),
		newSessionStopCommand(a),
		keycmd.NewToken(a.terminal()),
	)
	a.addServerFlag(cmd)
	return cmd
}

func newKeyCommand(a *app) *cobra.Command {
	cmd := parent("key", "Create, list and revoke API keys", groupServer, keycmd.New(a.terminal())...)
	a.addServerFlag(cmd)
	return cmd
}

func newTenantCommand(a *app) *cobra.Command {
	cmd := parent("tenant", "Set and show the quotas of tenants", groupServer, tenantcmd.New(a.terminal())...)
	a.addServerFlag(cmd)
	return cmd
}

func newUsageCommand(a *app) *cobra.Command {
	cmd := tenantcmd.NewUsage(a.terminal(), groupServer)
	a.addServerFlag(cmd)
	return cmd
}

func newAuditCommand(a *app) *cobra.Command {
	cmd := auditcmd.New(a.terminal(), groupServer)
	a.addServerFlag(cmd)
	return cmd
}

// terminal returns the part of the program that commands in packages of their own use.
func (a *app) terminal() keycmd.Terminal {
	return keycmd.Terminal{
		Client: a.client, JSON: func() bool { return a.json }, PrintJSON: a.printJSON, PrintTable: a.printTable, Printf: a.printf,
		Tell: func(format string, args ...any) { fmt.Fprintf(a.stderr, format, args...) },
	}
}

// addServerFlag lets cmd and all below it be told which server to use.
func (a *app) addServerFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&a.server, "server", a.env("YURT_SERVER", defaultServer), "the server's address; also in YURT_SERVER")
}

// client returns a client of the server that the flags name.
func (a *app) client() (*yurtclient.Client, error) { return a.clientOf(a.server) }

// clientOf returns a client of a server, with the API key of the environment: a flag would show the key to every user of the host.
func (a *app) clientOf(server string) (*yurtclient.Client, error) {
	return yurtclient.New(server, yurtclient.WithAPIKey(a.env("YURT_API_KEY", "")))
}

// sessionRunFlags are the flags that exec and code share.
type sessionRunFlags struct {
	timeout      string
	env          []string
	cwd          string
	stdin        bool
	handler      string
	event        string
	onDisconnect string
}

func (f *sessionRunFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.timeout, "timeout", "", "how long it may run, such as 10s (default: the template's)")
	flags.StringArrayVar(&f.env, "env", nil, "an environment variable: NAME=VALUE, or NAME to copy the one here; may be repeated")
	flags.StringVar(&f.cwd, "cwd", "", "directory to run in (default "+yurt.WorkspaceDir+")")
	flags.StringVar(&f.onDisconnect, "on-disconnect", "", "whether it goes on or is interrupted when the connection to the server ends: continue or interrupt (default continue)")
	registerCompletion(cmd, "on-disconnect", cobra.FixedCompletions([]cobra.Completion{string(yurt.DisconnectContinue), string(yurt.DisconnectInterrupt)}, cobra.ShellCompDirectiveNoFileComp))
	flags.StringVarP(&f.event, "event", "e", "", "invoke a handler with this event: JSON, @FILE, or - for standard input")
}

// apply fills in the values of the flags.
func (f *sessionRunFlags) apply(a *app, req *yurtclient.ExecuteRequest) error {
	var err error
	if f.timeout != "" {
		if req.Timeout, err = yurt.ParseDuration(f.timeout); err != nil {
			return yurt.FieldErrorf(yurt.CodeOf(err), "--timeout", "%w", err)
		}
	}
	if req.Env, err = a.parseEnv(f.env); err != nil {
		return err
	}
	req.Cwd, req.Handler, req.OnDisconnect = f.cwd, f.handler, yurt.OnDisconnect(f.onDisconnect)
	if err := req.OnDisconnect.Validate("--on-disconnect"); err != nil {
		return err
	}
	if f.stdin && f.event == "-" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--event", "standard input is read once; give --stdin or --event -, not both")
	}
	if f.event != "" {
		if req.Event, err = a.readEvent(f.event); err != nil {
			return err
		}
	}
	return nil
}

// report shows the outcome of an execution whose events were passed on, and returns its exit code
// as an error unless it is 0.
func (s *shower) report(execution yurt.Execution) error {
	result := execution.Result
	if s.json {
		if err := s.printJSON(execution); err != nil {
			return err
		}
	} else {
		s.printResult(result)
	}
	if result.ExitCode != 0 {
		return exitError(result.ExitCode)
	}
	if result.Error != nil {
		return exitError(result.CLIExitCode())
	}
	return nil
}
