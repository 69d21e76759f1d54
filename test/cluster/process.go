package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// patience bounds the wait for events that must happen, on machines of any speed.
const patience = 90 * time.Second

// process is an agent's program, in one life after the other.
type process struct {
	name string
	dir  string // its own: its output is in dir/log
	args []string
	env  []string // beside the environment of this process
	host *Host    // nil for this machine itself

	cmd  *exec.Cmd
	done chan struct{} // closed when this life has ended
}

// LogFile is where it prints to.
func (p *process) LogFile() string { return filepath.Join(p.dir, "log") }

// PID returns the process id of the present life.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Running reports whether the agent lives.
func (p *process) Running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// start begins a life. The agent ends with this program, however that ends.
func (p *process) start() error {
	if p.Running() {
		return fmt.Errorf("%s runs already", p.name)
	}
	// A file: processes that an agent leaves behind would hold a pipe open.
	log, err := os.OpenFile(p.LogFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("making a log for %s: %w", p.name, err)
	}
	defer log.Close()
	args := p.args
	if p.host != nil {
		// Not "ip netns exec", which hides the cgroups behind a /sys of its own.
		args = append([]string{"nsenter", "--net=" + p.host.netns()}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, done := make(chan error), make(chan struct{})
	go func() {
		// The kernel sends that signal when the thread ends that started the process:
		// this one waits for it, and is kept for that.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is seen in its log
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.cmd, p.done = cmd, done
	return nil
}

// end sends the signal and waits until the process is gone; one that runs no more is left alone. A
// process that does not heed a signal in time is killed, which is an error.
func (p *process) end(signal syscall.Signal) error {
	if !p.Running() {
		return nil
	}
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return fmt.Errorf("%s did not end within %s of %s, and was killed:\n%s", p.name, patience, signal, p.LogTail())
}

// Kill ends it as a crash would: processes that it started live on.
func (p *process) Kill() error { return p.end(syscall.SIGKILL) }

// Stop ends it as a supervisor would.
func (p *process) Stop() error { return p.end(syscall.SIGINT) }

// LogTail returns the end of its output, in all its lives.
func (p *process) LogTail() string {
	data, err := os.ReadFile(p.LogFile())
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-20_000):])
}

// Program is a program of Yurt's own that runs beside the agents, such as a controller.
type Program struct{ *process }

// StartProgram starts it with a log in the directory, on the host if that is not nil, and
// waits until the check passes. It ends with this program; the caller calls Stop or Kill.
func StartProgram(ctx context.Context, host *Host, dir string, check func(context.Context) error, args ...string) (*Program, error) {
	p := &Program{&process{name: strings.Join(args[:min(2, len(args))], " "), dir: dir, host: host, args: args}}
	if err := p.start(); err != nil {
		return nil, err
	}
	if err := p.ready(ctx, check); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}
