package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/cmd/yurt/internal/config"
	"github.com/yurtrun/yurt/cmd/yurt/internal/serverlog"
)

// settingsOf returns the flags of a server's command, as the command line args sets them.
func settingsOf(t *testing.T, command string, args ...string) *pflag.FlagSet {
	t.Helper()
	a := &app{App: &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: noVariables}}
	flags, _, err := flagsOf(a, command, append([]string{command}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return flags
}

func flagsOf(a *app, command string, args []string) (*pflag.FlagSet, func() error, error) {
	root := newRootCommand(a)
	return a.servers.Flags(root, command, args)
}

func noVariables(string) (string, bool) { return "", false }

// sample returns a value of a flag's type that is not its default: as text, and as a file has it.
func sample(f *pflag.Flag) (text, inFile string) {
	switch f.Value.Type() {
	case "bool":
		return "true", "true"
	case "int":
		return "7", "7"
	case "float64":
		return "1.5", "1.5"
	case "duration":
		return "17s", `"17s"`
	case "stringSlice":
		return "[a,b]", `["a", "b"]`
	default:
		return "x" + f.Name, fmt.Sprintf("%q", "x"+f.Name)
	}
}

// TestEverySetting: each flag of each server can be given in a file, in the environment and on the command line, the later of
// which wins, and the file that init prints has them all.
func TestEverySetting(t *testing.T) {
	for _, command := range []string{"dev", "controller", "executor"} {
		all := config.All(settingsOf(t, command))
		if len(all) < 20 {
			t.Fatalf("yurt %s has %d settings", command, len(all))
		}
		template := config.Template(command, settingsOf(t, command))
		for _, f := range all {
			key, variable := config.Key(f.Name), config.Variable(f.Name)
			text, inFile := sample(f)
			file := filepath.Join(t.TempDir(), "settings.hcl")
			if err := os.WriteFile(file, []byte(key+" = "+inFile+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(template, "\n# "+key+" = ") {
				t.Errorf("yurt config init %s has no %s", command, key)
			}
			plain := strings.Trim(text, "[]")
			environment := func(name string) (string, bool) { return plain, name == variable }
			for _, way := range []struct {
				origin string
				args   []string
				getenv func(string) (string, bool)
			}{
				{"file " + file + ":1", []string{"--config", file}, noVariables},
				{"environment " + variable, []string{"--config", file}, environment},
				{"flag --" + f.Name, []string{"--config", file, "--" + f.Name + "=" + plain}, environment},
			} {
				flags := settingsOf(t, command, way.args...)
				read, err := config.Read(flags, way.getenv)
				if err != nil {
					t.Errorf("yurt %s, %s from %s: %v", command, f.Name, way.origin, err)
					continue
				}
				if got := flags.Lookup(f.Name).Value.String(); got != text {
					t.Errorf("yurt %s: %s from %s is %q, want %q", command, f.Name, way.origin, got, text)
				}
				for _, v := range read.Values {
					if v.Name == key && v.Origin != way.origin {
						t.Errorf("yurt %s: the source of %s is %q, want %q", command, key, v.Origin, way.origin)
					}
				}
			}
		}
	}
}

// TestTemplateIsValid: the file that init prints can be read once its comment signs are gone, and changes no value.
func TestTemplateIsValid(t *testing.T) {
	for _, command := range []string{"dev", "controller", "executor"} {
		var lines []string
		for line := range strings.Lines(config.Template(command, settingsOf(t, command))) {
			if setting, ok := strings.CutPrefix(line, "# "); ok && strings.Contains(setting, " = ") && !strings.Contains(strings.SplitN(setting, " = ", 2)[0], " ") {
				lines = append(lines, setting)
			}
		}
		file := filepath.Join(t.TempDir(), "settings.hcl")
		if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := settingsOf(t, command, "--config", file)
		if _, err := config.Read(flags, noVariables); err != nil {
			t.Errorf("yurt config init %s prints a file that cannot be read: %v", command, err)
			continue
		}
		for _, f := range config.All(flags) {
			if f.Value.String() != f.DefValue {
				t.Errorf("yurt config init %s says %s is %q by default, and it is %q", command, f.Name, f.Value, f.DefValue)
			}
		}
		if len(lines) != len(config.All(flags)) {
			t.Errorf("yurt config init %s has %d settings, want %d", command, len(lines), len(config.All(flags)))
		}
	}
}

// TestHangUpWithoutFile: a server without a file of settings outlives SIGHUP, and takes over the state of keys.
func TestHangUpWithoutFile(t *testing.T) {
	a := &app{App: &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: noVariables, Args: []string{"executor", "--state-dir", t.TempDir()}}}
	flags, _, err := flagsOf(a, "executor", a.Args)
	if err != nil {
		t.Fatal(err)
	}
	if a.settings, err = config.Read(flags, a.Getenv); err != nil {
		t.Fatal(err)
	}
	ours := make(chan os.Signal, 1) // the signal would end a test whose server does not wait for it
	signal.Notify(ours, syscall.SIGHUP)
	defer signal.Stop(ours)
	keys := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	log := &serverlog.Flags{Level: new(slog.LevelVar)}
	go func() {
		ended <- a.reload("executor", slog.New(slog.DiscardHandler), log, reloads{also: func(context.Context) error {
			select {
			case keys <- struct{}{}:
			default:
			}
			return nil
		}})(ctx)
	}()
	for taken := false; !taken; {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		select {
		case <-keys:
			taken = true
		case err := <-ended:
			t.Fatalf("the server waits for no signal, error %v", err)
		case <-time.After(time.Second):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestReload: on SIGHUP a server takes over its file of settings. One that cannot be leaves everything as it is.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.hcl")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log_level = \"info\"\nmax_queue = 1\n")
	a := &app{App: &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: noVariables, Args: []string{"executor", "--config", file, "--state-dir", t.TempDir()}}}
	flags, _, err := flagsOf(a, "executor", a.Args)
	if err != nil {
		t.Fatal(err)
	}
	if a.settings, err = config.Read(flags, a.Getenv); err != nil {
		t.Fatal(err)
	}
	lines := make(logLines, 16)
	log, files := &serverlog.Flags{Level: new(slog.LevelVar)}, make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- a.reload("executor", slog.New(slog.NewTextHandler(lines, nil)), log, reloads{also: func(context.Context) error { files <- struct{}{}; return nil }})(ctx)
	}()
	// The signal would end a process that does not wait for it yet.
	ours := make(chan os.Signal, 1)
	signal.Notify(ours, syscall.SIGHUP)
	defer signal.Stop(ours)
	hangUp := func() string {
		for {
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			select {
			case line := <-lines:
				return line
			case <-time.After(5 * time.Second):
			}
		}
	}
	write("log_level = \"debug\"\nmax_queue = 2\n")
	if line := hangUp(); !strings.Contains(line, "taken=[log_level] need_restart=[max_queue]") || log.Level.Level() != slog.LevelDebug {
		t.Errorf("the level is %s, and the log says %q", log.Level.Level(), line)
	}
	<-files
	for _, wrong := range []string{"log_level = \"loud\"\n", "log_levl = \"info\"\n", "max_queue = -1\n"} {
		write(wrong)
		if line := hangUp(); !strings.Contains(line, "all former ones stay in force") || !strings.Contains(line, "settings.hcl line 1") || log.Level.Level() != slog.LevelDebug {
			t.Errorf("after %q the level is %s, and the log says %q", wrong, log.Level.Level(), line)
		}
	}
	write("log_level = \"error\"\n")
	if line := hangUp(); !strings.Contains(line, "taken=[log_level]") || log.Level.Level() != slog.LevelError {
		t.Errorf("the level is %s, and the log says %q", log.Level.Level(), line)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestBrokerTakesOverLevel: on SIGHUP a broker takes over the level of its own log, and passes the signal on to its executor, also when
// the file has a mistake.
func TestBrokerTakesOverLevel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.hcl")
	a := &app{App: &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: noVariables, Args: []string{"executor", "--config", file, "--state-dir", t.TempDir()}}}
	if err := os.WriteFile(file, []byte("log_level = \"info\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags, _, err := flagsOf(a, "executor", a.Args)
	if err != nil {
		t.Fatal(err)
	}
	if a.settings, err = config.Read(flags, a.Getenv); err != nil {
		t.Fatal(err)
	}
	log := &serverlog.Flags{Level: new(slog.LevelVar)}
	hangups, passed := make(chan os.Signal), make(chan os.Signal, 1)
	go passHangups(t.Context(), a.takesOver("executor", slog.New(slog.DiscardHandler), log, reloads{}), hangups, passed)
	for _, step := range []struct {
		text string
		want slog.Level
	}{{"log_level = \"debug\"\n", slog.LevelDebug}, {"log_level = \"loud\"\n", slog.LevelDebug}, {"log_level = \"error\"\n", slog.LevelError}} {
		if err := os.WriteFile(file, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		hangups <- syscall.SIGHUP
		select {
		case <-passed:
		case <-time.After(10 * time.Second):
			t.Fatal("the signal is not passed on")
		}
		if got := log.Level.Level(); got != step.want {
			t.Errorf("after %q the broker's level is %s, want %s", step.text, got, step.want)
		}
	}
}

// logLines takes a line of a log a write.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}
