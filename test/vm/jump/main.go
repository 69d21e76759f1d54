//go:build linux

// Command jump runs in the test's virtual machine, whose clock it sets ahead and back while "yurt
// dev" serves sessions, and fails if these show it. Only package vm runs it: a machine in use would
// suffer from it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

const (
	program  = "/run/vm/bin/yurt" // package vm puts it there
	listen   = "127.0.0.1:8700"
	template = "shell-basic"

	patience = 15 * time.Minute // for all of it: the machine may be emulated
	// jump is longer than the sessions' timeouts, and than their executions'; slack, which is
	// shorter, is the time that a busy machine may need for one of those.
	jump  = 2 * time.Hour
	slack = 10 * time.Minute
	// looks is how long the server is left alone for it to look for expired sessions, which it does
	// every two seconds.
	looks = 5 * time.Second
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Println("--- FAIL:", err)
		os.Exit(1) //nolint:gocritic // cancel only releases a timer
	}
}

// world is a server whose machine's clock jumps.
type world struct {
	client *yurtclient.Client
	kept   yurt.Session // lives through all jumps
}

func run(ctx context.Context) (err error) {
	server := exec.CommandContext(ctx, program, "dev", "--listen", listen, "--state-dir", "/tmp/dev")
	server.Stdout, server.Stderr = os.Stdout, os.Stdout
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
	if err := server.Start(); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	defer func() {
		err = errors.Join(err, server.Process.Signal(os.Interrupt), server.Wait())
	}()
	client, err := yurtclient.New("http://" + listen)
	if err != nil {
		return err
	}
	w := &world{client: client}
	for err = client.Ready(ctx); err != nil; err = client.Ready(ctx) {
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for the server: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if w.kept, err = w.create(ctx, jump/4); err != nil {
		return err
	}
	for _, by := range []time.Duration{jump, -2 * jump, jump} {
		if err := w.through(ctx, by); err != nil {
			return fmt.Errorf("the clock was set by %s: %w", by, err)
		}
		fmt.Println("--- PASS: the clock was set by", by)
	}
	return nil
}

// create makes a session with that idle timeout.
func (w *world) create(ctx context.Context, idle time.Duration) (yurt.Session, error) {
	s, err := w.client.CreateSession(ctx, yurtclient.CreateSessionRequest{
		TemplateID: template, Mode: yurt.ModePersistent, Timeout: yurt.Duration(jump / 2), IdleTimeout: yurt.Duration(idle),
	})
	if err != nil {
		return yurt.Session{}, fmt.Errorf("creating a session: %w", err)
	}
	return s, nil
}

// through sets the clock while a command runs. Neither that nor a session ends because of it, new
// sessions work, and those that expire after it do so in their time.
func (w *world) through(ctx context.Context, by time.Duration) error {
	e, err := w.client.Start(ctx, w.kept.ID, yurtclient.ExecuteRequest{
		Command: yurtclient.Command{Shell: "sleep 3; echo slept"}, Timeout: yurt.Duration(slack),
	})
	if err != nil {
		return fmt.Errorf("starting an execution: %w", err)
	}
	if err := setClock(by); err != nil {
		return err
	}
	if err := w.wantSlept(ctx, e.ID); err != nil {
		return err
	}
	time.Sleep(looks)
	now, err := w.client.Session(ctx, w.kept.ID)
	if err != nil {
		return fmt.Errorf("looking at the session: %w", err)
	}
	if now.State != yurt.SessionReady {
		return fmt.Errorf("the session is %s: %s", now.State, now.Reason)
	}
	return w.wantIdle(ctx)
}

// wantSlept wants the result of an execution to be as if the clock had not changed.
func (w *world) wantSlept(ctx context.Context, id string) error {
	for {
		e, err := w.client.Result(ctx, w.kept.ID, id)
		if yurt.CodeOf(err) == yurt.CodeExecutionRunning {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if err != nil {
			return fmt.Errorf("asking for the result: %w", err)
		}
		r := e.Result
		took := r.EndedAt.Sub(r.StartedAt)
		if r.Error != nil || r.ExitCode != 0 || r.Stdout != "slept\n" {
			return fmt.Errorf("the execution printed %q, exit code %d, error %+v", r.Stdout, r.ExitCode, r.Error)
		}
		if took < 3*time.Second || took > slack || r.Metrics.DurationMS != float64(took)/float64(time.Millisecond) {
			return fmt.Errorf("an execution of three seconds took %s, and %f ms", took, r.Metrics.DurationMS)
		}
		return nil
	}
}

// wantIdle wants an unused session to end.
func (w *world) wantIdle(ctx context.Context) error {
	s, err := w.create(ctx, time.Second)
	if err != nil {
		return err
	}
	for !s.State.Ended() {
		time.Sleep(100 * time.Millisecond)
		if s, err = w.client.Session(ctx, s.ID); err != nil {
			return fmt.Errorf("waiting for a session to run out: %w", err)
		}
	}
	if s.State != yurt.SessionTerminated {
		return fmt.Errorf("a session that nobody uses is %s: %s", s.State, s.Reason)
	}
	return nil
}

func setClock(by time.Duration) error {
	to := unix.NsecToTimespec(time.Now().Add(by).UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &to); err != nil {
		return fmt.Errorf("setting the clock: %w", err)
	}
	return nil
}
