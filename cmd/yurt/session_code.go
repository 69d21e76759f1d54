package main

import (
	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func newSessionCodeCommand(a *app) *cobra.Command {
	var (
		f                sessionRunFlags
		language, inside string
	)
	cmd := &cobra.Command{
		Use:   "code [flags] ID FILE",
		Short: "Run source code in a session, and pass its output on as it comes",
		Long: `Run the source code in FILE, or from standard input for "-", in a session. What it
prints is passed on as it comes, then what its last expression is, and its exit code
becomes that of this program.

In a persistent session, variables, imports and the working directory last from one
piece of code to the next, where the language can keep them. Another --context is
another interpreter; an empty one is a fresh one.`,
		Example: `  yurt session code $id analysis.py
  echo 'x = 6 * 7' | yurt session code $id - && echo x | yurt session code $id -
  yurt session code --context "" $id analysis.py`,
		Args: arguments(2, 2, "a session ID and one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := a.readInput(args[1], yurt.MaxCodeBytes)
			if err != nil {
				return err
			}
			req := yurtclient.ExecuteRequest{Code: string(code), Language: language}
			if cmd.Flags().Changed("context") {
				req.Context = yurtclient.InContext(inside)
			}
			if err := f.apply(a, &req); err != nil {
				return err
			}
			return a.runInSession(cmd.Context(), args[0], req)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&inside, "context", "", "the context to share variables with (default: default, in a persistent session)")
	cmd.Flags().StringVarP(&language, "language", "l", "", "its language (default: the template's)")
	return cmd
}
