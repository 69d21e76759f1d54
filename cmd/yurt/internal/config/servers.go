package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
)

// Servers are the checks of settings, by the command whose flags the settings are. A check refuses values that cannot be, and
// starts no part of the server.
type Servers map[string]func() error

// Flags returns the flags of a server's command below root, set as a command line says, and the check of their values.
func (s Servers) Flags(root *cobra.Command, command string, args []string) (*pflag.FlagSet, func() error, error) {
	check, ok := s[command]
	if !ok {
		names := slices.Sorted(maps.Keys(s))
		return nil, nil, yurt.Errorf(yurt.CodeInvalidArgument, "%q is no command with settings; give %s", command, strings.Join(names, ", "))
	}
	cmd, rest, err := root.Find(append([]string{command}, afterCommand(args)...))
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it is for the user
	}
	return cmd.Flags(), check, cmd.ParseFlags(rest)
}

// afterCommand returns the arguments without the name of the command.
func afterCommand(args []string) []string {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return append(slices.Clone(args[:i]), args[i+1:]...)
		}
	}
	return nil
}
