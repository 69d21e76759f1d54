package config

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/zclconf/go-cty/cty"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/hcl"
)

// maxFiles bounds the files of a directory of settings.
const maxFiles = 64

// readFile reads the file of settings, or the directory.
func (s *Settings) readFile(flags *pflag.FlagSet) error {
	if s.File == "" {
		return nil
	}
	sources, err := readSources(s.File)
	if err != nil {
		return err
	}
	var names []string
	byKey := map[string]*pflag.Flag{}
	for _, f := range All(flags) {
		names = append(names, Key(f.Name))
		byKey[Key(f.Name)] = f
	}
	accept := func(setting hcl.Setting) error { return fits(byKey[setting.Name], setting) }
	s.file, err = hcl.ParseSettings(names, accept, sources...)
	return err
}

// readSources reads a file, or the files of a directory whose names end in ".hcl", in the order of their names.
func readSources(path string) ([]hcl.Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	paths := []string{path}
	if info.IsDir() {
		if paths, err = filepath.Glob(filepath.Join(escape(path), "*.hcl")); err != nil || len(paths) == 0 || len(paths) > maxFiles {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--config", "the directory %q has %d files whose names end in .hcl; put 1 to %d there", path, len(paths), maxFiles)
		}
	}
	var sources []hcl.Source
	for _, path := range paths {
		text, err := readBounded(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		sources = append(sources, hcl.Source{Name: path, Text: text})
	}
	return sources, nil
}

// escape keeps the characters of a directory's name from being a pattern.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// readBounded reads one byte more than may be, by which the parser sees that a file is too large.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // unreadable wraps it
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, hcl.MaxSourceBytes+1))
}

func unreadable(path string, err error) error {
	var in *os.PathError
	if errors.As(err, &in) {
		err = in.Err
	}
	return yurt.FieldErrorf(yurt.CodeFileNotFound, "--config", "the file of settings %q cannot be read: %w; give the path of a file or a directory", path, err)
}

// fits reports whether a value is of the flag's type. A text that the flag itself refuses is refused when the flag is set.
func fits(f *pflag.Flag, setting hcl.Setting) error {
	text, list, err := setting.Text()
	if err != nil {
		return err
	}
	wanted := misfit(f.Value.Type(), setting.Value.Type(), list != nil)
	if wanted == "" {
		return nil
	}
	if marked(f, markSecret) {
		text = Hidden
	}
	return fmt.Errorf("%s takes %s, and not %.40s", Key(f.Name), wanted, text)
}

// misfit names the values that a type of flag takes, if one of the given type is not among them; "" if it is.
func misfit(flag string, given cty.Type, isList bool) string {
	switch flag {
	case "int", "float64":
		if given != cty.Number {
			return "a number without quotes, such as 8"
		}
	case "bool":
		if given != cty.Bool {
			return "true or false, without quotes"
		}
	case "duration":
		if given != cty.String {
			return `a duration in quotes, such as "30s"`
		}
	case "stringSlice":
		if !isList && given != cty.String {
			return `a list of texts, such as ["a", "b"]`
		}
	default:
		if isList || given == cty.Bool {
			return "a text in quotes"
		}
	}
	return ""
}

// assign gives a flag a value of a file.
func assign(f *pflag.Flag, setting hcl.Setting) error {
	text, list, err := setting.Text()
	if err != nil {
		return err
	}
	if list != nil && f.Value.Type() == "stringSlice" {
		if len(list) == 0 {
			return nil
		}
		var line bytes.Buffer
		writer := csv.NewWriter(&line)
		_ = writer.Write(list) // a buffer takes everything
		writer.Flush()
		text = strings.TrimSuffix(line.String(), "\n")
	}
	if err := f.Value.Set(text); err != nil {
		return fmt.Errorf("%s is no value of %s: give one such as %s", quoted(f, text), Key(f.Name), example(f))
	}
	return nil
}

// Template writes a file with every setting of a command, its meaning and its default, as comments.
func Template(command string, flags *pflag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Settings of yurt %s, which reads this file with --config.\n", command)
	b.WriteString("# A flag on the command line wins over a variable of the environment, and that over this file.\n")
	for _, f := range All(flags) {
		b.WriteString("\n")
		for _, line := range wrap(f.Usage, lineWidth) {
			b.WriteString("# " + line + "\n")
		}
		var notes []string
		if marked(f, markReload) {
			notes = append(notes, "SIGHUP has a running server take it over.")
		}
		if marked(f, markSecret) {
			notes = append(notes, "It is a secret: let only the server's user read this file.")
		}
		for _, note := range notes {
			b.WriteString("# " + note + "\n")
		}
		fmt.Fprintf(&b, "# %s = %s\n", Key(f.Name), example(f))
	}
	return b.String()
}

const lineWidth = 96

// wrap breaks a text into lines of at most width characters, where its words allow.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

// example is the default of a flag as a file has it.
func example(f *pflag.Flag) string {
	value := f.DefValue
	switch f.Value.Type() {
	case "int", "float64", "bool":
		return value
	case "stringSlice":
		parts := slices.DeleteFunc(strings.Split(strings.Trim(value, "[]"), ","), func(s string) bool { return s == "" })
		for i := range parts {
			parts[i] = fmt.Sprintf("%q", parts[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprintf("%q", value)
	}
}
