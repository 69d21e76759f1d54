// Package config gives the flags of a server their values: from the command line, from variables of the environment, and from
// files in HCL, in this order. The flags are the only list of settings, so that the three cannot differ: --max-queue is
// YURT_MAX_QUEUE and max_queue.
//
// A value that cannot be is refused with its place. Values of settings that are marked as secret are never shown.
package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/hcl"
)

// Help ends the help of the commands whose flags are settings.
const Help = `

Each flag can also be given as an environment variable, and in a file of settings (--config):
--log-level is YURT_LOG_LEVEL, and log_level in the file. A flag wins over a variable, and a
variable over the file. See yurt config.`

// fileFlag names the file of settings, so it cannot stand in there.
const fileFlag = "config"

// Marks of flags.
const (
	markSecret = "yurt_secret"
	markReload = "yurt_reload"
)

// AddFile adds the flag that names the file of settings.
func AddFile(flags *pflag.FlagSet) {
	flags.String(fileFlag, "", "a file of settings in HCL, or a directory of them, of which the last by name wins (see yurt config init)")
}

// Secret marks settings whose values are not shown.
func Secret(flags *pflag.FlagSet, names ...string) { mark(flags, markSecret, names) }

// Reloadable marks settings that a running server takes over.
func Reloadable(flags *pflag.FlagSet, names ...string) { mark(flags, markReload, names) }

func mark(flags *pflag.FlagSet, key string, names []string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, key, nil); err != nil {
			panic(err) // a flag that is not there, which each test of the command shows
		}
	}
}

func marked(flag *pflag.Flag, key string) bool {
	_, ok := flag.Annotations[key]
	return ok
}

// Value is a setting with its origin.
type Value struct {
	Name       string `json:"name"` // as in a file
	Value      string `json:"value"`
	Origin     string `json:"source"` // "default", "file NAME:LINE", "environment NAME" or "flag --NAME"
	Secret     bool   `json:"secret,omitempty"`
	Reloadable bool   `json:"reloadable,omitempty"`

	text string // the value, whether it is a secret or not
}

// Settings are the values of all flags of a command, in the order of their names.
type Settings struct {
	File   string // of the settings; "" where there is no file
	Values []Value

	file *hcl.Settings
}

// Hidden stands for the value of a secret.
const Hidden = "(secret)"

// Read sets the flags that the command line does not give: from the environment, and else from the file of settings.
func Read(flags *pflag.FlagSet, getenv func(string) (string, bool)) (*Settings, error) {
	s := &Settings{}
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	if f := flags.Lookup(fileFlag); f != nil {
		s.File = f.Value.String()
		if text, ok := getenv(Variable(fileFlag)); ok && s.File == "" {
			s.File = text
		}
	}
	if err := s.readFile(flags); err != nil {
		return nil, err
	}
	var failures []error
	for _, f := range All(flags) {
		origin, err := s.set(flags, f, given[f.Name], getenv)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		s.Values = append(s.Values, newValue(f, origin))
	}
	s.setOthers(flags, given, getenv, &failures)
	return s, errors.Join(failures...)
}

// setOthers sets the flags that are no settings of a server, such as --json, which files do not have.
func (s *Settings) setOthers(flags *pflag.FlagSet, given map[string]bool, getenv func(string) (string, bool), failures *[]error) {
	flags.VisitAll(func(f *pflag.Flag) {
		if inFile(f) || f.Name == "help" || f.Name == fileFlag {
			return
		}
		if _, err := s.set(flags, f, given[f.Name], getenv); err != nil {
			*failures = append(*failures, err)
		}
	})
}

// set gives a flag its value, and returns the origin.
func (s *Settings) set(flags *pflag.FlagSet, f *pflag.Flag, given bool, getenv func(string) (string, bool)) (string, error) {
	if given {
		return "flag --" + f.Name, nil
	}
	if text, ok := getenv(Variable(f.Name)); ok && text != "" {
		if err := flags.Set(f.Name, text); err != nil {
			return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, Variable(f.Name), "%s is no value for it; give what --%s takes", quoted(f, text), f.Name)
		}
		return "environment " + Variable(f.Name), nil
	}
	if s.file != nil && inFile(f) {
		if setting, ok := s.file.Get(Key(f.Name)); ok {
			if err := assign(f, setting); err != nil {
				return "", s.file.Refuse(Key(f.Name), err)
			}
			return fmt.Sprintf("file %s:%d", setting.File, setting.Line), nil
		}
	}
	return "default", nil
}

func quoted(f *pflag.Flag, text string) string {
	if marked(f, markSecret) {
		return Hidden
	}
	return fmt.Sprintf("%q", text)
}

func newValue(f *pflag.Flag, origin string) Value {
	v := Value{Name: Key(f.Name), Value: f.Value.String(), Origin: origin, Secret: marked(f, markSecret), Reloadable: marked(f, markReload), text: f.Value.String()}
	if v.Secret && v.Value != "" {
		v.Value = Hidden
	}
	return v
}

// Explain adds the place to an error about a setting, as the checks of a command make them: the line of the file, or the name of
// the variable.
func (s *Settings) Explain(err error) error {
	if err == nil || s == nil || s.file == nil {
		return err
	}
	several, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // of this error alone
	if ok && errors.Join(several.Unwrap()...).Error() == err.Error() {
		var explained []error
		for _, part := range several.Unwrap() {
			explained = append(explained, s.Explain(part))
		}
		return errors.Join(explained...)
	}
	var refused *yurt.Error
	if !errors.As(err, &refused) {
		return err
	}
	name := Key(strings.TrimPrefix(refused.Field, "--"))
	i := slices.IndexFunc(s.Values, func(v Value) bool { return v.Name == name })
	if i < 0 || !strings.HasPrefix(s.Values[i].Origin, "file ") || s.Values[i].Secret {
		return err
	}
	return s.file.Refuse(name, errors.New(refused.Message))
}

// All returns the flags that are settings, in the order of their names. Former names are not among them.
func All(flags *pflag.FlagSet) []*pflag.Flag {
	var all []*pflag.Flag
	flags.VisitAll(func(f *pflag.Flag) {
		if inFile(f) {
			all = append(all, f)
		}
	})
	return all
}

func inFile(f *pflag.Flag) bool {
	return f.Deprecated == "" && !slices.Contains([]string{"help", "json", fileFlag}, f.Name)
}

// Key is the name of a flag in a file.
func Key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// Variable is the name of a flag in the environment.
func Variable(flag string) string { return "YURT_" + strings.ToUpper(Key(flag)) }
