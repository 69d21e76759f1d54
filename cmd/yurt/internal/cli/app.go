package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/yurtrun/yurt"
)

// App is shared by all commands: the streams to read and write, and the flags that all share. It is
// set up once, before the command runs.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) (string, bool)
	AsRoot         bool // this process does a part of root's work, as another user

	Args   []string // of the command line, without the program
	JSON   bool     // --json
	Server string   // --server
}

// Env returns a variable of the environment, or fallback when it is not set.
func (a *App) Env(name, fallback string) string {
	if value, ok := a.Getenv(name); ok && value != "" {
		return value
	}
	return fallback
}

// AsksForJSON reports whether --json is among the arguments, before those that are
// another program's.
func (a *App) AsksForJSON() bool {
	for _, arg := range a.Args {
		switch arg {
		case "--json":
			return true
		case "--":
			return false
		}
	}
	return false
}

// PrintJSON writes v, indented, to standard output.
func (a *App) PrintJSON(v any) error {
	encoder := json.NewEncoder(a.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// Printf writes to standard output. A write error is ignored: a reader that has gone away, such as
// head in a pipe, wants no more output.
func (a *App) Printf(format string, args ...any) { fmt.Fprintf(a.Stdout, format, args...) }

// ReadInput reads a file of the user's, or standard input for "-", of at most
// limit bytes. A file that cannot be read is [yurt.CodeFileNotFound].
func (a *App) ReadInput(name string, limit int64) ([]byte, error) {
	in := a.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, Unreadable(name, err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, Unreadable(name, err)
	}
	if int64(len(data)) > limit {
		return nil, yurt.Errorf(yurt.CodeFileTooLarge, "%s is larger than %s; give a smaller file", name, yurt.Size(limit))
	}
	return data, nil
}

// Unreadable says why a file of the user cannot be read; its code is [yurt.CodeFileNotFound].
func Unreadable(name string, err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if errors.Is(err, os.ErrNotExist) {
		return yurt.Errorf(yurt.CodeFileNotFound, "there is no file %s; check the name and the directory you are in", name)
	}
	return yurt.Errorf(yurt.CodeFileNotFound, "%s cannot be read: %w; give a readable file", name, err)
}

// ReadValue returns the text of a flag that takes a value, "@file" or "-".
func (a *App) ReadValue(text string, limit int64) ([]byte, error) {
	if text == "-" {
		return a.ReadInput("-", limit)
	}
	if name, ok := strings.CutPrefix(text, "@"); ok {
		return a.ReadInput(name, limit)
	}
	return []byte(text), nil
}

// ParseEnv reads the values of --env: NAME=VALUE, or NAME alone for the value that
// it has here.
func (a *App) ParseEnv(settings []string) (map[string]string, error) {
	env := make(map[string]string, len(settings))
	for _, setting := range settings {
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			if value, ok = a.Getenv(name); !ok {
				return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--env", "%s is not set here; give a value as %s=VALUE", name, name)
			}
		}
		env[name] = value
	}
	return env, yurt.ValidateEnv("--env", env)
}

// StateDir is the directory for files that outlive a process, unless a flag names another.
func (a *App) StateDir() (string, error) {
	if dir := a.Env("YURT_STATE_DIR", ""); dir != "" {
		return dir, nil
	}
	if base := a.Env("XDG_STATE_HOME", ""); filepath.IsAbs(base) {
		return filepath.Join(base, "yurt"), nil
	}
	if a.AsRoot || os.Geteuid() == 0 {
		return "/var/lib/yurt", nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", yurt.Errorf(yurt.CodeInvalidArgument, "there is no home directory to keep state in; give --state-dir")
	}
	return filepath.Join(home, ".local", "state", "yurt"), nil
}

// ReadEvent reads the value of --event.
func (a *App) ReadEvent(text string) (json.RawMessage, error) {
	event, err := a.ReadValue(text, yurt.MaxEventBytes)
	if err != nil {
		return nil, err
	}
	if !json.Valid(event) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--event", "this is not JSON; give a value such as '{\"name\": \"world\"}', or @FILE")
	}
	return event, nil
}
