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
	variables      variableFlags // of the template's file
	timeout        string
	env            []string
	profile        bool
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run FILE|DIR [ARGUMENT]...",
		Short:   "Run a handler or a script in a sandbox of its own, with no server",
		GroupID: groupRun,
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
			return a.runFile(cmd.Context(), args[0], f)
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
	f.variables.add(cmd)
	registerCompletion(cmd, "template", builtinTemplates)
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
	if f.variables.given() && !strings.HasSuffix(f.template, ".hcl") {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--var", "the variables are those of a template file; name one with --template FILE.hcl")
	}
	return f.variables.parser(a)
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
	profile := newProfile()
	node, err := a.startPrivateNode(ctx)
	if err != nil {
		return initFailure(err)
	}
	defer node.remove(ctx)

	template, spec, err := request.complete(ctx, node)
	if err != nil {
		return err
	}
	show := &shower{app: a, kind: spec.Kind, limit: spec.OutputLimit, wait: a.wait(startOf(template))}
	defer show.wait.End()
	sandbox, err := node.CreateSandbox(ctx, yurt.SandboxSpec{
		ID:        yurt.NewSandboxID(),
		Template:  template,
		Resources: template.Resources.Or(yurt.DefaultResources()),
	})
	if err != nil {
		return initFailure(err)
	}
	profile.sandboxReady(sandbox)
	if request.function != nil {
		if err := request.function.upload(ctx, node, sandbox.ID); err != nil {
			return err
		}
	}

	result, err := show.execute(ctx, node, sandbox.ID, spec)
	if err != nil {
		return err
	}
	show.wait.End()
	profile.ended(result)
	return show.printRun(result, profile, f.profile)
}

// execute runs spec, joined with our input and output, and returns its result. Then it destroys the
// sandbox, so that processes left in there write no more output.
func (s *shower) execute(ctx context.Context, node runNode, sandboxID string, spec yurt.ExecutionSpec) (*yurt.Result, error) {
	joint, err := s.join(spec)
	if err != nil {
		return nil, err
	}
	joint.to = quieting{joint.to, s.wait}
	result, err := s.runJoined(ctx, node, sandboxID, spec, joint)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalLimit)
	defer cancel()
	if alive := node.DestroySandbox(ending, sandboxID); alive != nil {
		return nil, errors.Join(err, alive) // and the pipes may be in use until this process ends
	}
	return result, errors.Join(err, joint.leave())
}

// runJoined runs spec to its end, and passes on the events that the node reports.
func (s *shower) runJoined(ctx context.Context, node runNode, sandboxID string, spec yurt.ExecutionSpec, joint *joint) (*yurt.Result, error) {
	if err := node.StartAttached(ctx, sandboxID, spec, joint.Stdio); err != nil {
		return nil, err
	}
	joint.begin()
	var result *yurt.Result
	err := node.WatchExecution(ctx, sandboxID, spec.ID, 0, func(event yurt.Event) error {
		if event.Type == yurt.EventEnded {
			result = event.Result
		}
		return s.each(event)
	})
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, yurt.Errorf(yurt.CodeInternal, "the execution ended and left no result")
	}
	return result.Whole(ctx)
}

// initError is an error that kept a sandbox from being made. For every code, its exit code says
// that the user's own code never ran.
type initError struct{ error }

func (e initError) Unwrap() error { return e.error }

func initFailure(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if yurt.CodeOf(err) == yurt.CodeInternal {
		err = yurt.Errorf(yurt.CodeSandboxFailed, "the sandbox could not be made: %w; run \"yurt doctor\" to see what this host lacks", err)
	}
	return initError{err}
}
