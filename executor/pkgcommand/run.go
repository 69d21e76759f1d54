package pkgcommand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yurtrun/yurt/executor/pkgsocket"
)

// BinDir holds the links to the command. It comes first on the PATH.
const BinDir = "/run/packages/bin"

// LeaveEnv is set in the environment of a package manager that is to do its own work.
const LeaveEnv = "YURT_PACKAGES"

// leave is the value of LeaveEnv then.
const leave = "off"

// dialTimeout is how long the node's socket is waited for: it is made a moment after the sandbox.
const dialTimeout = 3 * time.Second

// Exit codes, as those of pip and npm.
const (
	exitFailed = 1
	exitUsage  = 2
)

// Is reports whether the program was started as one of the commands.
func Is(argv0 string) bool { return slices.Contains(Names(), filepath.Base(argv0)) }

// Names are the names of the commands.
func Names() []string { return []string{"pip", "pip3", "uv", "npm"} }

// Run carries out the command line, and returns the exit code.
func Run(args []string) int {
	c := &command{name: filepath.Base(args[0]), args: args[1:], out: os.Stdout, errs: os.Stderr}
	o, err := c.parse()
	switch {
	case err != nil:
		fmt.Fprintf(c.errs, "yurt: %s: %v\n", c.name, err)
		return exitUsage
	case o == nil || os.Getenv(LeaveEnv) == leave:
		return c.become()
	}
	conn, err := dial(context.Background())
	if err != nil { // no packages are installed here
		return c.become()
	}
	defer conn.Close()
	return c.install(conn, o)
}

// command is one run of the command.
type command struct {
	name      string
	args      []string
	out, errs io.Writer
	printed   bool // text of the package manager
}

// order is an installation that the command line asks for.
type order struct {
	pkgsocket.Request

	project *project // of npm, whose files are brought in line; nil for other tools
}

// dial connects to the node.
func dial(ctx context.Context) (conn net.Conn, err error) {
	for end := time.Now().Add(dialTimeout); ; time.Sleep(20 * time.Millisecond) {
		conn, err = pkgsocket.Dial(ctx)
		missing := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED)
		if !missing || time.Now().After(end) {
			return conn, err
		}
	}
}

// install asks the node, and prints the answers.
func (c *command) install(conn net.Conn, o *order) int {
	line, err := pkgsocket.Encode(o.Request)
	if err == nil && len(line) > pkgsocket.MaxRequest {
		err = fmt.Errorf("the request has %d bytes; at most %d are allowed", len(line), pkgsocket.MaxRequest)
	}
	if err == nil {
		_, err = conn.Write(line)
	}
	if err != nil {
		fmt.Fprintf(c.errs, "yurt: %s: asking the node for packages: %v\n", c.name, err)
		return exitFailed
	}
	for answers := pkgsocket.NewAnswers(conn); ; {
		answer, err := answers.Next()
		switch {
		case err != nil:
			fmt.Fprintf(c.errs, "yurt: %s: the node did not say how the installation ended (%v); run it again\n", c.name, err)
			return exitFailed
		case answer.Done:
			return c.end(o, answer)
		case !o.Quiet:
			c.printed = c.printed || answer.Text != ""
			fmt.Fprint(c.out, answer.Text)
		}
	}
}

// end prints how the installation ended.
func (c *command) end(o *order, answer pkgsocket.Answer) int {
	if answer.Error != "" {
		text := strings.TrimSpace(answer.Error)
		if line, _, more := strings.Cut(text, ":\n"); more && !o.Quiet { // the rest has been printed
			text = line
		}
		fmt.Fprintf(c.errs, "ERROR: %s\n", text)
		return exitFailed
	}
	if o.project != nil {
		if err := o.project.update(answer.Installed); err != nil {
			fmt.Fprintf(c.errs, "yurt: %s: the packages are installed, and %v\n", c.name, err)
		}
	}
	if !o.Quiet {
		c.summarize(o, answer)
	}
	return 0
}

// summarize prints the packages where the package manager did not run, and the versions that
// were replaced.
func (c *command) summarize(o *order, answer pkgsocket.Answer) {
	text := "Successfully installed"
	for _, p := range answer.Installed {
		switch {
		case answer.Present:
			fmt.Fprintf(c.out, "Requirement already satisfied: %s (%s)\n", p.Name, p.Version)
		case o.Manager == pkgsocket.Npm:
			fmt.Fprintf(c.out, "+ %s@%s\n", p.Name, p.Version)
		}
		text += " " + p.Name + "-" + p.Version
	}
	if o.Manager == pkgsocket.Pip && !answer.Present && !c.printed {
		fmt.Fprintln(c.out, text)
	}
	for _, p := range answer.Replaced {
		fmt.Fprintf(c.out, "Note: %s %s was replaced; restart a context that has imported it already.\n", p.Name, p.Version)
	}
}

// become replaces the process by the real package manager.
func (c *command) become() int {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, c.name)
		info, err := os.Stat(path)
		if filepath.Clean(dir) == BinDir || err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		if own, err := os.Stat("/proc/self/exe"); err == nil && os.SameFile(own, info) {
			continue // another link to this command
		}
		err = syscall.Exec(path, append([]string{path}, c.args...), os.Environ())
		fmt.Fprintf(c.errs, "yurt: starting %s: %v\n", path, err)
		return 126
	}
	if python := lookPython(); python != "" && strings.HasPrefix(c.name, "pip") {
		env := append(os.Environ(), LeaveEnv+"="+leave)
		err := syscall.Exec(python, append([]string{python, "-m", "pip"}, c.args...), env)
		fmt.Fprintf(c.errs, "yurt: starting %s: %v\n", python, err)
		return 126
	}
	fmt.Fprintf(c.errs, "%s: command not found\n", c.name)
	return 127
}

func lookPython() string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "python3")
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
