// Package child keeps the executor alive as a child of the broker. Each life of it has its own end of a socket, as descriptor [FD], and asks the
// broker at the other end. It is the user [idrange.Executor], without other groups, and has the capabilities that [Capabilities] lists. The executor ends with the broker, in any way that the broker ends. Sandboxes are children of neither.
package child

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/broker/wire"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// FD is the descriptor of the executor's end of the socket.
const FD = 3

// NameSuffix ends the name of an executor's process, which has the program of its broker.
const NameSuffix = " (executor)"

// How often an executor that crashes is started again: a few times at once, and then with a pause.
const (
	atOnce = 5
	pause  = 10 * time.Second
)

// patience bounds how long the executor may take to end in an orderly way.
const patience = time.Minute

// exitPanic is the code with which Go ends a program that panics.
const exitPanic = 2

// Child is an executor that a broker keeps alive.
type Child struct {
	Command func() *exec.Cmd // of a new life, whose extra files and end are the package's to set
	Files   []*os.File       // that it has after the socket
	Broker  broker.Broker
	Signals <-chan os.Signal // are passed on to it; may be nil
	Once    bool             // it has one life, however that ends
	Logger  *slog.Logger
}

// Run starts the executor, again whenever it crashes, and returns when it has ended by itself, with its error. When ctx ends it asks the
// executor to end. The broker is there until the executor's last request.
func (c *Child) Run(ctx context.Context) error {
	allowance := rate.NewLimiter(rate.Every(pause), atOnce)
	for {
		if err := allowance.Wait(ctx); err != nil {
			return fmt.Errorf("starting the executor: %w", err)
		}
		err := c.live(ctx)
		if ctx.Err() != nil || c.Once || !crashed(err) {
			return err
		}
		c.Logger.Error("the executor crashed and is started again; its sandboxes go on", "error", err)
	}
}

// crashed tells an executor that was killed or panicked from one that has given up, and says why by itself.
func crashed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	return !exit.Exited() || exit.ExitCode() == exitPanic
}

// live is one life of the executor. The kernel ends it with the thread that has started it, which waits for it.
func (c *Child) live(ctx context.Context) error {
	ours, theirs, err := wire.Pair()
	if err != nil {
		return err
	}
	defer ours.Close()
	cmd := c.Command()
	cmd.ExtraFiles = append([]*os.File{theirs}, c.Files...)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: idrange.Executor, Gid: idrange.Executor}
	if cmd.SysProcAttr.AmbientCaps, err = heldCapabilities(); err != nil {
		return errors.Join(err, theirs.Close())
	}
	lockedthread.Run(func() {
		if err = shed(); err == nil {
			err = cmd.Start()
		}
		theirs.Close()
		if err == nil {
			err = c.attend(ctx, cmd, ours)
		}
	})
	return err
}

// attend serves the executor until it has ended, and passes signals and the end of ctx on to it.
func (c *Child) attend(ctx context.Context, cmd *exec.Cmd, socket *net.UnixConn) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	beside.Go(func() {
		if err := wire.Serve(serving, socket, c.Broker); err != nil && serving.Err() == nil {
			c.Logger.Error("the executor breaks the rules of its requests, and is killed", "error", err)
			_ = cmd.Process.Kill() // it may have ended
		}
	})
	beside.Go(func() { c.pass(serving, cmd.Process) })
	dismissed := context.AfterFunc(ctx, func() { dismiss(serving, cmd.Process) })
	err := cmd.Wait()
	dismissed()
	stop()
	beside.Wait()
	return err
}

// pass passes signals on until ctx ends.
func (c *Child) pass(ctx context.Context, process *os.Process) {
	for {
		select {
		case <-ctx.Done():
			return
		case signal := <-c.Signals:
			_ = process.Signal(signal) // it may have ended
		}
	}
}

// dismiss asks a process to end, and kills it when it has not after a while. It returns early when ctx ends.
func dismiss(ctx context.Context, process *os.Process) {
	_ = process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		_ = process.Kill()
	}
}
