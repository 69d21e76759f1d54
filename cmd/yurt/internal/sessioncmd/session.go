package sessioncmd

import (
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/keycmd"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// New makes the commands that create sessions on a server and run things in them.
func New(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := cli.Parent("session", "Create sessions on a server, and run things in them", cli.GroupServer,
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
		newSessionEventsCommand(a),
		newSessionProcessesCommand(a),
		newSessionPauseCommand(a),
		newSessionResumeCommand(a),
		newSessionStopCommand(a),
		keycmd.NewToken(a.Terminal()),
	)
	a.AddServerFlag(cmd)
	return cmd
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
	cli.RegisterCompletion(cmd, "on-disconnect", cobra.FixedCompletions([]cobra.Completion{string(yurt.DisconnectContinue), string(yurt.DisconnectInterrupt)}, cobra.ShellCompDirectiveNoFileComp))
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
	if req.Env, err = a.ParseEnv(f.env); err != nil {
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
		if req.Event, err = a.ReadEvent(f.event); err != nil {
			return err
		}
	}
	return nil
}
