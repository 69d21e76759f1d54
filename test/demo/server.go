package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// server is a running "yurt dev".
type server struct {
	cmd  *exec.Cmd
	url  string
	log  *os.File
	done chan error // receives what Wait said, once
}

// startServer starts the binary and waits until it says where it listens.
func startServer(ctx context.Context, binary, stateDir, listen string, log *os.File) (*server, error) {
	cmd := exec.CommandContext(ctx, binary, "dev", "--listen", listen, "--state-dir", stateDir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C here is passed on once, by ctx
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting yurt dev: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting yurt dev: %w", err)
	}
	s := &server{cmd: cmd, log: log, done: make(chan error, 1)}
	url := make(chan string, 1)
	go func() {
		defer close(url)
		url <- firstURL(io.TeeReader(stdout, log))
		_, _ = io.Copy(log, stdout)
		s.done <- cmd.Wait()
	}()
	select {
	case s.url = <-url:
	case <-time.After(30 * time.Second):
	}
	if s.url == "" {
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("yurt dev did not start:\n%s", s.logTail())
	}
	return s, nil
}

func firstURL(out io.Reader) string {
	pattern := regexp.MustCompile(`http://[0-9a-z.:\[\]]+`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url := pattern.FindString(lines.Text()); url != "" {
			return url
		}
	}
	return ""
}

// stop asks the server to end, as Ctrl-C does, and waits for it.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("stopping yurt dev: %w", err)
	}
	select {
	case err := <-s.done:
		if err != nil {
			return fmt.Errorf("yurt dev ended badly: %w\n%s", err, s.logTail())
		}
		return nil
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		return errors.New("yurt dev did not end within 20s of being asked")
	}
}

// kill ends the server as a crash or the OOM killer would.
func (s *server) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing yurt dev: %w", err)
	}
	<-s.done
	return nil
}

func (s *server) logTail() string {
	data, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
