package config

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
)

// Terminal is the part of the program that the commands use: the servers' flags, and its output.
type Terminal struct {
	Servers    Servers
	Getenv     func(string) (string, bool)
	JSON       func() bool
	PrintJSON  func(v any) error
	PrintTable func(head []string, rows [][]string)
	Printf     func(format string, args ...any)
}

// Commands returns the commands about settings.
func Commands(t Terminal) []*cobra.Command {
	return []*cobra.Command{newInit(t), newValidate(t), newShow(t)}
}

func newInit(t Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "init COMMAND",
		Short: "Print a file with every setting of dev, controller or executor",
		Long: `Print a file with every setting of a server, as comments: the meaning, and the default. The
server reads it with --config. Remove the comment sign before a setting to change it.`,
		Example: "  yurt config init executor > /etc/yurt/executor.hcl\n  yurt executor --config /etc/yurt/executor.hcl",
		Args:    arguments.Between(1, 1, "COMMAND, such as executor"),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags, _, err := t.Servers.Flags(cmd.Root(), args[0], nil)
			if err == nil {
				t.Printf("%s", Template(args[0], flags))
			}
			return err
		},
	}
}

func newValidate(t Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "validate COMMAND [PATH]",
		Short: "Check the settings of dev, controller or executor",
		Long: `Check the settings of a server as it reads them: the file or the directory, and the environment
of this command. Without PATH the file is the one that YURT_CONFIG names. The server is not
started, so files and addresses that it would use are not looked at.`,
		Example: "  yurt config validate executor /etc/yurt/executor.hcl",
		Args:    arguments.Between(1, 2, "COMMAND and a PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, check, err := t.read(cmd, args)
			if err != nil {
				return err
			}
			if err := settings.Explain(check()); err != nil {
				return err
			}
			if t.JSON() {
				return t.PrintJSON(map[string]any{"valid": true, "file": settings.File})
			}
			t.Printf("The settings of yurt %s are valid.\n", args[0])
			return nil
		},
	}
}

func newShow(t Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "show COMMAND [PATH]",
		Short: "Show the settings of dev, controller or executor, and the source of each",
		Long: `Show the settings that a server would have: the value of each, and its source, which is the file
with the line, a variable of the environment, or the default. An empty value is the default that
the help of the server names. Secrets are not shown.`,
		Example: "  yurt config show executor /etc/yurt/executor.hcl",
		Args:    arguments.Between(1, 2, "COMMAND and a PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, _, err := t.read(cmd, args)
			if err != nil {
				return err
			}
			if t.JSON() {
				return t.PrintJSON(settings.Values)
			}
			var rows [][]string
			for _, v := range settings.Values {
				rows = append(rows, []string{v.Name, v.Value, v.Origin})
			}
			t.PrintTable([]string{"SETTING", "VALUE", "SOURCE"}, rows)
			return nil
		},
	}
}

// read returns the settings of a server's command.
func (t Terminal) read(cmd *cobra.Command, args []string) (*Settings, func() error, error) {
	var given []string
	if len(args) > 1 {
		given = []string{args[0], "--" + fileFlag, filepath.Clean(args[1])}
	}
	flags, check, err := t.Servers.Flags(cmd.Root(), args[0], given)
	if err != nil {
		return nil, nil, err
	}
	settings, err := Read(flags, t.Getenv)
	return settings, check, err
}
