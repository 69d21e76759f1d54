// Package arguments checks the positional arguments of commands, and says which are wanted where they are wrong. It has the flag --limit of
// commands that list.
package arguments

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
)

// Between makes a check of the number of positional arguments. Its error says which are wanted. There is no upper bound if most is
// negative.
func Between(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return yurt.Errorf(yurt.CodeInvalidArgument, "%s takes %s, and was given %s; see %q",
			cmd.CommandPath(), want, counted(args), cmd.CommandPath()+" --help")
	}
}

// None is for commands that have subcommands or no arguments.
func None(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		message := "there is no command " + cmd.CommandPath() + " " + args[0]
		cmd.SuggestionsMinimumDistance = 2 // letters that may be wrong
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			message += "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return yurt.Errorf(yurt.CodeInvalidArgument, "%s; see %q", message, cmd.CommandPath()+" --help")
	}
	return Between(0, 0, "no arguments")(cmd, args)
}

func counted(args []string) string {
	if len(args) == 0 {
		return "none"
	}
	return strings.Join(args, " ")
}
