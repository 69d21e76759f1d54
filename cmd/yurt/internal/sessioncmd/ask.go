package sessioncmd

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// askFlags are the flags of commands that ask a context about code.
type askFlags struct {
	inside, language, timeout string
	cursor, detail            int
}

func newSessionCompleteCommand(a *app) *cobra.Command {
	return newAskCommand(a, &cobra.Command{
		Use:   "complete [flags] ID FILE",
		Short: "Complete the code at a cursor",
		Long: `Print the completions at the cursor of the code in FILE, or from standard input for "-", one a
line: names, attributes, modules, keys and files. The interpreter of the context answers. It
does not run the code.`,
		Example: `  printf 'import ma' | yurt session complete -l python $id -`,
	}, (*app).completeCode, false)
}

func newSessionInspectCommand(a *app) *cobra.Command {
	return newAskCommand(a, &cobra.Command{
		Use:   "inspect [flags] ID FILE",
		Short: "Show the signature, type and documentation of a name",
		Long: `Print the signature, type and documentation of the name at the cursor of the code in FILE, or
from standard input for "-", as the interpreter of the context knows them.`,
		Example: `  printf 'print' | yurt session inspect -l python $id -`,
	}, (*app).inspectCode, true)
}

// askCode asks a context of a session, and prints the answer.
type askCode func(a *app, ctx context.Context, client *yurtclient.Client, sessionID, name string, question yurt.Question) error

func newAskCommand(a *app, cmd *cobra.Command, ask askCode, detailed bool) *cobra.Command {
	var f askFlags
	cmd.Args = arguments.Between(2, 2, "a session ID and a FILE")
	cmd.ValidArgsFunction = a.CompleteSession(cobra.ShellCompDirectiveDefault)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		question, err := f.question(a, args[1], cmd.Flags().Changed("cursor"))
		if err != nil {
			return err
		}
		client, err := a.clientFor(cmd.Context(), &args[0])
		if err != nil {
			return err
		}
		return ask(a, cmd.Context(), client, args[0], f.inside, question)
	}
	cmd.Flags().StringVar(&f.inside, "context", yurt.DefaultContext, "the context that is asked")
	cmd.Flags().StringVarP(&f.language, "language", "l", "", "its language; a context that does not exist yet is made")
	cmd.Flags().IntVar(&f.cursor, "cursor", 0, "place in the code, in characters (default: the end of its last line)")
	cmd.Flags().StringVar(&f.timeout, "timeout", "", "how long to wait for the context, and then for the answer (default 3s, at most 10s)")
	if detailed {
		cmd.Flags().IntVar(&f.detail, "detail", 0, "1: the source code too")
	}
	a.CompletesFlag(cmd, "language", cli.LanguageNames)
	return cmd
}

// question reads the code and returns the question about it.
func (f *askFlags) question(a *app, file string, placed bool) (yurt.Question, error) {
	code, err := a.ReadInput(file, yurt.MaxQuestionBytes)
	if err != nil {
		return yurt.Question{}, err
	}
	if !placed { // editors end a file with a line end, behind which no name stands
		code = bytes.TrimSuffix(code, []byte("\n"))
	}
	q := yurt.Question{Code: string(code), Detail: f.detail, Language: f.language}
	if placed {
		q.Cursor = &f.cursor
	}
	if f.timeout != "" {
		if q.Timeout, err = yurt.ParseDuration(f.timeout); err != nil {
			return q, yurt.FieldErrorf(yurt.CodeOf(err), "--timeout", "%w", err)
		}
	}
	return q, nil
}

func (a *app) completeCode(ctx context.Context, client *yurtclient.Client, sessionID, name string, question yurt.Question) error {
	completion, err := client.Complete(ctx, sessionID, name, question)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(completion)
	}
	for _, match := range completion.Matches {
		a.Printf("%s\n", cli.Printable(match.Text))
	}
	return nil
}

func (a *app) inspectCode(ctx context.Context, client *yurtclient.Client, sessionID, name string, question yurt.Question) error {
	inspection, err := client.Inspect(ctx, sessionID, name, question)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(inspection)
	}
	var text string
	if err := json.Unmarshal(inspection.Data["text/plain"], &text); !inspection.Found || err != nil {
		return yurt.Errorf(yurt.CodeNotFound, "the context knows of no name at the cursor; move --cursor to a name, or run the code that defines it")
	}
	a.Printf("%s\n", cli.PrintableLines(text))
	return nil
}
