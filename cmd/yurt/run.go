package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/hcl"
)

// sandboxRunName is the name under which the binary is "yurt run".
const sandboxRunName = "sandbox-run"

// runFlags are the flags of yurt run, as they were given.
type runFlags struct {
	event, context string
	eventGiven     bool
	handler        string
	handlerGiven   bool
	client         string // the command of a Lambda runtime client
	clientGiven    bool
	language       string
	entry          string
	args           []string // of the script
	dependencies   []string
	template       string
	variables      cli.VariableFlags // of the template's file
	timeout        string
	env            []string
	profile        bool
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run FILE|DIR [ARGUMENT]...",
		Short:   "Run a handler or a script in a sandbox of its own, with no server",
		GroupID: cli.GroupRun,
		Long: `Run FILE ("-" for standard input), or the project in DIR, in a fresh sandbox on this machine,
and remove the sandbox afterwards. The main file of a project is main, index, app or handler,
unless --entry names another. The language follows from its extension.

A file that defines a function named "handler" is run as a Lambda-style handler: the function
is called with the event, and its return value is printed as JSON. Any other file is run as a
script with the arguments, unless --event or --handler makes it a handler. With --handler ""
every file is a script. Arguments that begin with a dash come after "--".

A script reads the standard input of this program and writes to its standard output, in full.
With --json its output is in the result, up to the template's output_limit; its standard error
always is. A script has pipes for input and output, and never a terminal.

With --runtime-client a Lambda runtime client serves the function that --handler names. The
command is a program or a line for the sandbox's shell. It starts in a directory with a copy of
FILE, or of all of DIR but hidden files at its top, and is invoked once. Compiled functions,
links and installed packages are copied as they are. A stream of the function is printed as it
comes.

Exit codes: 0 success, 1 general error, 2 file not found or unreadable, 3 syntax
error or handler not defined, 4 execution timeout, 5 the sandbox could not be made.`,
		Example: `  yurt run handler.py --event '{"name": "world"}'
  yurt run handler.py --event @event.json --timeout 10s --profile
  yurt run handler.py --handler lambda_handler --context '{"function_name": "hello"}'
  yurt run script.py --env HOME --timeout 1m input.txt
  yurt run ./project --entry src/app.ts -- --verbose
  yurt run filter.py < access.log | head
  yurt run report.py --dep humanize==4.9.0
  yurt run app.py --dep awslambdaric --handler app.handler --runtime-client "python3 -m awslambdaric app.handler"
  yurt run ./function --handler bootstrap --runtime-client ./bootstrap --event '{"n": 1}'
  echo 'print(6 * 7)' | yurt run - --language python --json`,
		Args: arguments.Between(1, -1, "a FILE or a DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.args = args[1:]
			f.eventGiven, f.clientGiven = cmd.Flags().Changed("event"), cmd.Flags().Changed("runtime-client")
			f.handlerGiven = cmd.Flags().Changed("handler")
			return a.withPrivateNode(cmd.Context(), func(ctx context.Context) error { return a.runFile(ctx, args[0], f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.event, "event", "e", "", "the event: JSON, @FILE, or - for standard input (default {})")
	flags.StringVar(&f.context, "context", "", "fields for the handler's context: a JSON object or @FILE")
	flags.StringVar(&f.handler, "handler", "", "name of the handler function (default \"handler\"); empty: run FILE as a script")
	flags.StringVar(&f.client, "runtime-client", "", "the command of the Lambda runtime client that serves --handler")
	flags.StringVarP(&f.language, "language", "l", "", "language of FILE (default: from its extension)")
	flags.StringVar(&f.entry, "entry", "", "the file of DIR to run")
	flags.StringArrayVar(&f.dependencies, "dep", nil, "a package to install first, as its package manager writes it; may be repeated")
	flags.StringVarP(&f.template, "template", "t", "", "a built-in template, or an .hcl file that defines one (default: the one called default, which has every language of the host)")
	flags.StringVar(&f.timeout, "timeout", "", "how long it may run, such as 10s (default: the template's); __timeout in the event wins")
	flags.StringArrayVar(&f.env, "env", nil, "an environment variable: NAME=VALUE, or NAME to copy the one here; may be repeated")
	flags.BoolVar(&f.profile, "profile", false, "print the time of each phase, and the memory that was used")
	f.variables.Add(cmd)
	cli.RegisterCompletion(cmd, "template", cli.BuiltinTemplates)
	return cmd
}

// newSandboxRunCommand is yurt run as a program of its own.
func newSandboxRunCommand(a *app) *cobra.Command {
	cmd := newRunCommand(a)
	cmd.Use, cmd.GroupID, cmd.Version = sandboxRunName+" FILE|DIR [ARGUMENT]...", "", version
	cmd.CompletionOptions.DisableDefaultCmd = true
	return a.finish(cmd)
}

// parser reads the file that defines the template. A built-in template has no variables.
func (f runFlags) parser(a *app) (*hcl.Parser, error) {
	if f.variables.Given() && !strings.HasSuffix(f.template, ".hcl") {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--var", "the variables are those of a template file; name one with --template FILE.hcl")
	}
	return f.variables.Parser(a.App)
}

// runFile is one life of a sandbox, from the file to the exit code.
func (a *app) runFile(ctx context.Context, file string, f runFlags) error {
	request, err := a.readRun(file, f)
	if err != nil {
		return err
	}
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // an output without a reader is an error here, and does not end the process: there is a sandbox to remove
	defer signal.Stop(broken)
	profile := cli.NewProfile()
	node, err := a.startPrivateNode(ctx)
	if err != nil {
		return cli.InitFailure(err)
	}
	defer node.remove(ctx)

	template, spec, err := request.complete(ctx, node)
	if err != nil {
		return err
	}
	show := &cli.Shower{App: a.App, Kind: spec.Kind, Limit: spec.OutputLimit, Wait: a.Wait(cli.StartOf(template))}
	defer show.Wait.End()
	sandbox, err := node.CreateSandbox(ctx, yurt.SandboxSpec{
		ID:        yurt.NewSandboxID(),
		Template:  template,
		Resources: template.Resources.Or(yurt.DefaultResources()),
	})
	if err != nil {
		return cli.InitFailure(err)
	}
	profile.SandboxReady(sandbox)
	if request.function != nil {
		if err := request.function.upload(ctx, node, sandbox.ID); err != nil {
			return err
		}
	}

	result, err := a.execute(ctx, show, node, sandbox.ID, spec)
	if err != nil {
		return err
	}
	show.Wait.End()
	profile.Ended(result)
	return show.PrintRun(result, profile, f.profile)
}

// execute runs spec, joined with our input and output, and returns its result. Then it destroys the
// sandbox, so that processes left in there write no more output.
func (a *app) execute(ctx context.Context, s *cli.Shower, node runNode, sandboxID string, spec yurt.ExecutionSpec) (*yurt.Result, error) {
	joint, err := a.join(spec)
	if err != nil {
		return nil, err
	}
	joint.to = cli.Quieting(joint.to, s.Wait)
	result, err := runJoined(ctx, s, node, sandboxID, spec, joint)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalLimit)
	defer cancel()
	if alive := node.DestroySandbox(ending, sandboxID); alive != nil {
		return nil, errors.Join(err, alive) // and the pipes may be in use until this process ends
	}
	return result, errors.Join(err, joint.leave())
}

// runJoined runs spec to its end, and passes on the events that the node reports.
func runJoined(ctx context.Context, s *cli.Shower, node runNode, sandboxID string, spec yurt.ExecutionSpec, joint *joint) (*yurt.Result, error) {
	if err := node.StartAttached(ctx, sandboxID, spec, joint.Stdio); err != nil {
		return nil, err
	}
	joint.begin()
	var result *yurt.Result
	err := node.WatchExecution(ctx, sandboxID, spec.ID, 0, func(event yurt.Event) error {
		if event.Type == yurt.EventEnded {
			result = event.Result
		}
		return s.Each(event)
	})
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, yurt.Errorf(yurt.CodeInternal, "the execution ended and left no result")
	}
	return result.Whole(ctx)
}
