package sessioncmd

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionExecCommand(a *app) *cobra.Command {
	var (
		f            sessionRunFlags
		language     string
		dependencies []string
		detach       bool
	)
	cmd := &cobra.Command{
		Use:   "exec ID [flags] [--] COMMAND [ARGUMENT]...",
		Short: "Run a command in a session, and print its output as it comes",
		Long: `Run a command in a session. Its output is printed as it comes, and its exit code becomes that
of this program.

The command reads the standard input of this program where that is a pipe or a file. In a loop
over lines give "< /dev/null", so that the command does not read the other lines.

Flags come before or after the ID. The command begins with the first other word after the ID,
or after "--"; flags behind that word belong to the command.

Several words are a program and its arguments. A single argument with a space or another
character that is special to a shell is a line for the sandbox's shell.

With --handler the command is a Lambda runtime client that serves this function. It is started
once, and invoked with the event. A stream of the function is printed as it comes, and its
return value as JSON. --dep installs packages first, such as the client itself.`,
		Example: `  yurt session exec $id -- ls -l /workspace
  yurt session exec $id 'for i in 1 2 3; do echo $i; sleep 1; done'
  yurt session exec $id --timeout 10s --json -- ls -l
  yurt session exec $id -- wc -l < access.log
  yurt session exec --handler app.handler --event '{"n": 1}' $id -- python3 -m awslambdaric app.handler
  yurt session exec --handler app.handler --dep awslambdaric $id 'python3 -m awslambdaric app.handler'`,
		Args:              arguments.Between(2, -1, "a session ID and a command"),
		ValidArgsFunction: a.CompleteSession(cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := flagsAfterID(cmd, args)
			if errors.Is(err, pflag.ErrHelp) {
				return cmd.Help()
			}
			if err != nil {
				return err
			}
			req := yurtclient.ExecuteRequest{Command: cli.CommandOf(args[1:]), Language: language, Dependencies: dependencies}
			if err := f.apply(a, &req); err != nil {
				return err
			}
			if detach {
				return a.startInSession(cmd.Context(), args[0], req, f.stdin)
			}
			return a.runInSession(cmd.Context(), args[0], req, f.input(a, &req))
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.handler, "handler", "", "the Lambda function that COMMAND, a runtime client, serves")
	cmd.Flags().StringVarP(&language, "language", "l", "", "the language that --dep is of (default: the template's)")
	cmd.Flags().StringArrayVar(&dependencies, "dep", nil, "a package to install first for the function, as its package manager writes it; may be repeated")
	cmd.Flags().BoolVarP(&f.stdin, "stdin", "i", false, "pass standard input on also from a terminal; with --detach, read it to its end first")
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "print its ID and leave it running; see \"yurt session attach\"")
	cmd.Flags().SetInterspersed(false) // the flags after COMMAND are its own
	a.CompletesFlag(cmd, "language", cli.LanguageNames)
	return cmd
}

// input returns the file that is passed on to the command while it runs, nil if there is no input,
// and has the server expect it. A function gets an event, and reads no input.
func (f *sessionRunFlags) input(a *app, req *yurtclient.ExecuteRequest) *os.File {
	file := a.pipedInput()
	switch {
	case f.stdin:
		file, _ = a.Stdin.(*os.File)
	case req.Handler != "" || req.Event != nil:
		file = nil
	}
	req.StdinOpen = file != nil
	return file
}

// flagsAfterID reads the flags between the ID and the command, and returns the ID and the
// command. Flags that follow a "--" before the ID are the command's already.
func flagsAfterID(cmd *cobra.Command, args []string) ([]string, error) {
	if cmd.ArgsLenAtDash() < 0 {
		err := cmd.Flags().Parse(args[1:])
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		if err != nil {
			return nil, cmd.FlagErrorFunc()(cmd, err)
		}
		args = append(args[:1:1], cmd.Flags().Args()...)
	}
	if help, err := cmd.Flags().GetBool("help"); err == nil && help {
		return nil, pflag.ErrHelp
	}
	return args, cmd.ValidateArgs(args)
}
