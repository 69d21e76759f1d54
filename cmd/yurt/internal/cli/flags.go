package cli

import (
	"fmt"
	"strings"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// ParseFlag reads the text of a flag that was given.
func ParseFlag[T any](flag, text string, parse func(string) (T, error), into *T) (err error) {
	if text == "" {
		return nil
	}
	if *into, err = parse(text); err != nil {
		return yurt.FieldErrorf(yurt.CodeOf(err), flag, "%w", err)
	}
	return nil
}

// ParsePairs reads the values of a flag of the form NAME=VALUE.
func ParsePairs(flag string, settings []string) (map[string]string, error) {
	pairs := make(map[string]string, len(settings))
	for _, setting := range settings {
		key, value, ok := strings.Cut(setting, "=")
		if !ok || key == "" {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, flag, "%s is not KEY=VALUE", fmt.Sprintf("%q", setting))
		}
		pairs[key] = value
	}
	return pairs, nil
}

// CommandOf tells a program with arguments from a line for the shell.
func CommandOf(words []string) yurtclient.Command {
	if len(words) == 1 && strings.ContainsAny(words[0], " \t\n|&;<>()$`\\\"'*?[]#~{}=!") {
		return yurtclient.Command{Shell: words[0]}
	}
	return yurtclient.Command{Argv: words}
}
