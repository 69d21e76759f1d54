// Package devserver runs the built "yurt dev" as a process of its own, for tests of
// more than one part and for the demo: starts it, finds out where it listens, and
// ends it as a user, a supervisor or a crash would.
package devserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/yurtrun/yurt/test/leftovers"
)

// How long a server may take to start and to stop.
const (
	startLimit = 30 * time.Second
	stopLimit  = 30 * time.Second
)

// Server is a running "yurt dev", or another program that serves the REST API.
type Server struct {
	URL string // without a slash at its end

	cmd  *exec.Cmd
	log  *os.File
	done chan struct{} // closed when the process has ended
	err  error         // of the process, once done is closed
}

// Start starts binary on the state directory and waits until it says where it
// listens. listen is its --listen; "127.0.0.1:0" takes any free port. Its output is
// kept in server.log in the state directory. When ctx ends the server is asked to
// end too. The caller calls Stop or Kill.
func Start(ctx context.Context, binary, stateDir, listen string) (*Server, error) {
	return Run(ctx, binary, stateDir, "dev", "--listen", listen)
}

// Run is Start with the arguments of another server.
func Run(ctx context.Context, binary, stateDir string, args ...string) (*Server, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(stateDir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a log: %w", err)
	}
	cmd := exec.CommandContext(ctx, binary, append(args, "--state-dir", stateDir)...)
	cmd.Env = append(os.Environ(), "YURT_STATE_DIR="+stateDir) // marks its helpers, see package leftovers
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopLimit
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C reaches it through ctx alone
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the server: %w", err), log.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the server: %w", err), log.Close())
	}
	s := &Server{cmd: cmd, log: log, done: make(chan struct{})}
	url := make(chan string, 1)
	go s.follow(stdout, url)
	select {
	case s.URL = <-url:
	case <-time.After(startLimit):
	}
	if s.URL == "" {
		return nil, errors.Join(fmt.Errorf("the server did not start:\n%s", s.LogTail()), s.Kill())
	}
	return s, nil
}

// follow copies the server's output to its log, picks the first address out of it, and waits for
// the process to end.
func (s *Server) follow(stdout io.Reader, url chan<- string) {
	defer close(s.done)
	pattern := regexp.MustCompile(`http://[0-9a-z.:\[\]]+`)
	found := false
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		fmt.Fprintln(s.log, lines.Text())
		if address := pattern.FindString(lines.Text()); address != "" && !found {
			found = true
			url <- address
		}
	}
	if !found {
		close(url)
	}
	s.err = s.cmd.Wait()
}

// Running reports whether the process has not ended.
func (s *Server) Running() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// PID returns the process id of the server: of one with sandboxes, that of its broker.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// ExecutorPID returns the process id of the executor, which does the work of a server with sandboxes.
func (s *Server) ExecutorPID() (int, error) {
	return leftovers.Executor(s.PID(), 0, startLimit)
}

// KillExecutor ends the executor alone, and returns when its broker has started another one.
func (s *Server) KillExecutor() error {
	pid, err := s.ExecutorPID()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing the executor: %w", err)
	}
	_, err = leftovers.Executor(s.PID(), pid, startLimit)
	return err
}

// Stop asks the server to end, as Ctrl-C does, and waits until it has.
func (s *Server) Stop() error {
	defer s.log.Close()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the server: %w", err)
	}
	select {
	case <-s.done:
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("the server did not end within %s of being asked:\n%s", stopLimit, s.LogTail()), s.Kill())
	}
	if s.err != nil {
		return fmt.Errorf("the server ended badly: %w\n%s", s.err, s.LogTail())
	}
	return nil
}

// Kill ends the server as a crash or the OOM killer would, and waits until it has.
func (s *Server) Kill() error {
	defer s.log.Close()
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing yurt dev: %w", err)
	}
	<-s.done
	return nil
}

// Log returns the server's output and log.
func (s *Server) Log() string {
	data, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// LogTail returns the last lines of the server's output and log.
func (s *Server) LogTail() string {
	lines := strings.Split(strings.TrimSpace(s.Log()), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
