package sessioncmd

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

type sessionCodeFlags struct {
	sessionRunFlags
	language, entry string
	inside          string // the context
	contextGiven    bool
	handlerGiven    bool
	dependencies    []string
}

func newSessionCodeCommand(a *app) *cobra.Command {
	var f sessionCodeFlags
	cmd := &cobra.Command{
		Use:   "code [flags] ID FILE|DIR [ARGUMENT]...",
		Short: "Run source code in a session, and print its output as it comes",
		Long: `Run the source code in FILE, or from standard input for "-", in a session. Its output is
printed as it comes, and then the value of its last expression. Its exit code becomes that of
this program.

The language follows from the extension of the file, unless --language names it. Standard
input has no extension: its language is that of the session's template.

All files of a directory are copied into the working directory, and the file main, index, app
or handler is run, unless --entry names another.

In a persistent session, variables, imports and the working directory last from one piece of
code to the next, where the language can keep them. Each --context has an interpreter of its
own. With an empty --context the code runs in a fresh interpreter, as projects and code with
arguments do.

With --event or --handler the code is a Lambda-style handler: the handler is called with the
event, and its return value is printed as JSON. Code that only defines things, a function named
"handler" among them, is called with the event {} without these flags too. With --context, or
with --handler "", the code runs as it is.`,
		Example: `  yurt session code $id analysis.py
  echo 'x = 6 * 7' | yurt session code $id - && echo x | yurt session code $id -
  yurt session code --context "" $id analysis.py
  yurt session code $id ./project --entry src/app.py -- --verbose
  yurt session code --event '{"name": "world"}' $id handler.py
  yurt session code --dep humanize==4.9.0 $id report.py`,
		Args:              arguments.Between(2, -1, "a session ID and a FILE or DIR"),
		ValidArgsFunction: a.CompleteSession(cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.contextGiven, f.handlerGiven = cmd.Flags().Changed("context"), cmd.Flags().Changed("handler")
			req, err := f.request(cmd.Context(), a, args[1], args[2:])
			if err != nil {
				return err
			}
			return a.runInSession(cmd.Context(), args[0], req, nil)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.inside, "context", "", "the context to share variables with (default: default, in a persistent session)")
	cmd.Flags().StringVar(&f.handler, "handler", "", "name of the handler function (default \"handler\", where there is an event); empty: run the code as it is")
	cmd.Flags().StringVarP(&f.language, "language", "l", "", "its language (default: from the extension of the file, or the template's)")
	cmd.Flags().StringVar(&f.entry, "entry", "", "the file of DIR to run")
	cmd.Flags().StringArrayVar(&f.dependencies, "dep", nil, "a package to install first, as its package manager writes it; may be repeated")
	a.CompletesFlag(cmd, "language", cli.LanguageNames)
	return cmd
}

// request reads the source code and says how to run it.
func (f *sessionCodeFlags) request(ctx context.Context, a *app, file string, args []string) (yurtclient.ExecuteRequest, error) {
	source, err := a.ReadSource(file, f.entry)
	if err != nil {
		return yurtclient.ExecuteRequest{}, err
	}
	req := yurtclient.ExecuteRequest{Code: source.Code, Entry: source.Entry, Args: args, Language: f.language, Dependencies: f.dependencies}
	if len(source.Files) > 0 {
		req.Files = make(yurtclient.Files, len(source.Files))
	}
	for _, f := range source.Files {
		req.Files[f.Path] = f.Data
	}
	if f.contextGiven {
		req.Context = yurtclient.InContext(f.inside)
	}
	if err := f.apply(a, &req); err != nil {
		return req, err
	}
	req.Plain = f.handlerGiven && f.handler == ""
	if req.Language == "" {
		req.Language, err = a.languageOf(ctx, source.Name)
	}
	return req, err
}

// languageOf returns the language of the server's runtime that has the extension of a file,
// or "" where no runtime has it, which leaves the language to the session's template.
func (a *app) languageOf(ctx context.Context, file string) (string, error) {
	extension := strings.ToLower(filepath.Ext(file))
	if extension == "" {
		return "", nil
	}
	client, err := a.Client()
	if err != nil {
		return "", err
	}
	runtimes, err := client.Runtimes(ctx)
	if err != nil {
		return "", err
	}
	for _, runtime := range runtimes {
		if slices.Contains(runtime.Extensions, extension) {
			return runtime.Name, nil
		}
	}
	return "", nil
}
