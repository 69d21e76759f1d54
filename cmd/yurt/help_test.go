package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
)

// TestHelp: the help of each command is plain English, and its text fits a terminal of 100 columns.
func TestHelp(t *testing.T) {
	root := newRootCommand(&app{App: &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) (string, bool) { return "", false }}})
	// Words that stand for a thing or a person without naming it. "none" is a value of some flags.
	vague := regexp.MustCompile(`(?i)\b(what|whatever|who|whoever|nobody|nothing)\b`)
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Short == "" && cmd.HasParent() {
			t.Errorf("%s: no line for the list of commands", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Short + "\n" + cmd.Long) {
			if word := vague.FindString(line); word != "" {
				t.Errorf("%s: name the subject in place of %q: %s", cmd.CommandPath(), word, line)
			}
			if len(strings.TrimSpace(line)) > 100 {
				t.Errorf("%s: a line is %d characters long: %s", cmd.CommandPath(), len(line), line)
			}
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if word := vague.FindString(flag.Usage); word != "" || flag.Usage == "" {
				t.Errorf("%s --%s: name the subject in place of %q: %s", cmd.CommandPath(), flag.Name, word, flag.Usage)
			}
		})
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
}
