package sessioncmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// runInSession carries out req. Output is passed on as it comes, and the exit code is that of the
// program; under --json the execution is printed instead. The program reads input, unless that is nil. The execution ends with this command: an
// interrupt is passed on to it, a second one kills it, and it is cancelled when our output is closed.
func (a *app) runInSession(ctx context.Context, sessionID string, req yurtclient.ExecuteRequest, input *os.File) error {
	client, err := a.clientFor(ctx, &sessionID)
	if err != nil {
		return err
	}
	show := &cli.Shower{App: a.App, Kind: yurt.KindCode, Limit: req.OutputLimit, Values: true}
	if req.Handler != "" || req.Event != nil {
		show.Kind = yurt.KindHandler
	}
	show.Wait = a.Wait("waiting for the session")
	defer show.Wait.End()
	var feeding *stdinPump
	if input != nil {
		if feeding, err = newStdinPump(input, client, sessionID); err != nil {
			return err
		}
	}
	defer feeding.close()
	watch := a.attend(ctx, client, sessionID)
	execution, err := client.ExecuteStream(watch.ctx, sessionID, req, func(event yurt.Event) error {
		if event.Type == yurt.EventStarted && event.Execution != nil {
			watch.begun(event.Execution.ID)
			feeding.begin(watch.ctx, event.Execution.ID)
		}
		return show.Each(event)
	})
	stopped := watch.close()
	show.Wait.End()
	switch {
	case errors.Is(err, syscall.EPIPE):
		return a.abandon(ctx, client, execution)
	case err != nil && stopped != 0:
		if execution.ID != "" {
			fmt.Fprintf(a.Stderr, "yurt: no longer watching; execution %s goes on in session %s until it ends or times out\n", execution.ID, sessionID)
		}
		return exitOfSignal(stopped)
	case err != nil:
		return err
	case stopped != 0:
		if a.JSON {
			err = a.PrintJSON(execution)
		}
		return errors.Join(err, exitOfSignal(stopped))
	}
	return show.Report(execution)
}

// exitOfSignal is the exit code of a program that a signal ended, as shells count it.
func exitOfSignal(number syscall.Signal) error {
	return cli.ExitError(yurt.ExecutionExitSignal + int(number))
}

// abandon cancels an execution whose output has no reader any more.
func (a *app) abandon(ctx context.Context, client *yurtclient.Client, execution yurt.Execution) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
	defer cancel()
	_, err := client.CancelExecution(ctx, execution.SessionID, execution.ID)
	if code := yurt.CodeOf(err); err != nil && code != yurt.CodeExecutionEnded && code != yurt.CodeSessionEnded {
		return err
	}
	return exitOfSignal(syscall.SIGPIPE)
}

// cancelPatience is how long the server may take to end an execution.
const cancelPatience = 30 * time.Second

// attention passes on to an execution that it is to end. It belongs to the command that watches it.
type attention struct {
	ctx     context.Context // of the watch; the last resort ends it
	cancel  context.CancelFunc
	signals chan os.Signal
	started chan string
	done    chan struct{}
	stopped chan syscall.Signal // has the first signal, once done is closed; 0 without one
}

// attend listens for signals until close is called. An interrupt also ends ctx, which ends commands
// that have no execution to care for; the watch goes on, to show how the execution ends.
func (a *app) attend(ctx context.Context, client *yurtclient.Client, sessionID string) *attention {
	t := &attention{
		signals: make(chan os.Signal, 4), started: make(chan string, 1),
		done: make(chan struct{}), stopped: make(chan syscall.Signal, 1),
	}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	// A closed output is an error of the write then, and does not end this process.
	signal.Notify(t.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() { t.stopped <- t.serve(a, client, sessionID) }()
	return t
}

// begun tells which execution is to be ended.
func (t *attention) begun(executionID string) {
	select {
	case t.started <- executionID:
	default: // it is known
	}
}

// close returns the first signal that was to end the execution, or 0.
func (t *attention) close() syscall.Signal {
	signal.Stop(t.signals)
	close(t.done)
	first := <-t.stopped
	t.cancel()
	return first
}

// serve passes on signals until done is closed, and returns the first.
func (t *attention) serve(a *app, client *yurtclient.Client, sessionID string) (first syscall.Signal) {
	id, count := "", 0
	for {
		select {
		case received := <-t.signals:
			number, ok := received.(syscall.Signal)
			if !ok || number == syscall.SIGPIPE {
				continue
			}
			if count++; count == 1 {
				first = number
			}
		case id = <-t.started:
		case <-t.done:
			return first
		}
		switch {
		case count == 0:
		case count > 2 || count == 2 && id == "":
			t.cancel()
		case id != "":
			t.end(a, client, sessionID, id, first, count == 2)
		}
	}
}

// end ends the execution: an interrupt is for the program, the rest does not leave it the choice.
func (t *attention) end(a *app, client *yurtclient.Client, sessionID, id string, first syscall.Signal, kill bool) {
	ctx, cancel := context.WithTimeout(t.ctx, cancelPatience)
	defer cancel()
	var err error
	switch {
	case kill:
		err = client.Signal(ctx, sessionID, id, yurt.SignalKill)
	case first == syscall.SIGINT:
		fmt.Fprintf(a.Stderr, "yurt: interrupting execution %s; press Ctrl-C again to kill it\n", id)
		err = client.Signal(ctx, sessionID, id, yurt.Signal(syscall.SIGINT))
	default:
		_, err = client.CancelExecution(ctx, sessionID, id)
	}
	if err != nil && yurt.CodeOf(err) != yurt.CodeExecutionEnded {
		fmt.Fprintf(a.Stderr, "yurt: execution %s could not be ended: %v\n", id, err)
	}
}
