// Package brokered divides a command that has sandboxes into two processes of one program. The broker is the process that the user has
// started: it has the power over the host that sandboxes need, and starts the executor, its child, which does all other work of the
// command. The executor has the arguments, the streams and the environment of the broker, and the broker ends with its exit code.
//
// The user's signals are for the broker. A second one that asks it to end, or its death, ends the executor at once.
package brokered

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/broker/child"
	"github.com/yurtrun/yurt/executor/broker/wire"
	"github.com/yurtrun/yurt/executor/cpuidle"
)

// Descriptors of an executor, after the socket to its broker.
const (
	lockFD   = child.FD + 1 // the lock of the state directory
	statusFD = child.FD + 2 // takes the words for systemd, a line each
)

// Go ends a program that panics with exit code 2. An executor that ends by itself with that code says so by another one.
const (
	exitPanic = 2
	exitTwo   = 120
)

// Executor is this process's part, where it is an executor.
type Executor struct {
	Socket   *net.UnixConn // to the broker
	StateDir string        // that the broker has locked
	status   *os.File

	handed []string // the names of listeners and the device that it has of the broker, in the order of their descriptors
}

// Join returns the executor that this process is, nil if it is no executor, and the name by which the user has called the program.
func Join(name string) (*Executor, string, error) {
	name, ok := strings.CutSuffix(name, child.NameSuffix)
	if !ok {
		return nil, name, nil
	}
	for _, fd := range []int{child.FD, lockFD, statusFD} {
		unix.CloseOnExec(fd)
	}
	handed := strings.FieldsFunc(os.Getenv(namesVariable), func(r rune) bool { return r == ':' })
	for i := range handed {
		unix.CloseOnExec(listenersFD + i)
	}
	socket, err := wire.Open(os.NewFile(child.FD, "broker"))
	if err != nil {
		return nil, name, fmt.Errorf("%w; the broker starts this process, and no user does", err)
	}
	lock, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", lockFD))
	if err != nil {
		return nil, name, fmt.Errorf("finding the state directory: %w", err)
	}
	return &Executor{Socket: socket, StateDir: filepath.Dir(lock), status: os.NewFile(statusFD, "status"), handed: handed}, name, nil
}

// Tell passes a word for systemd on to the broker, which is the process that systemd knows.
func (e *Executor) Tell(word string) error {
	_, err := fmt.Fprintln(e.status, word)
	return err
}

// ExitCode is the code with which an executor ends in the place of the code.
func ExitCode(code int) int {
	if code == exitPanic {
		return exitTwo
	}
	return code
}

// Broker is the settings of a broker.
type Broker struct {
	Power   *executor.Power
	Signals <-chan os.Signal // are passed on to the executor; may be nil
	Once    bool             // the executor is not started again
	Logger  *slog.Logger

	Listeners []Listener
	Latency   *os.File // the device that keeps processors awake; nil if they may sleep
}

// Run has an executor until that ends by itself, and returns nil or its exit code as a [cli.ExitError]. When ctx ends it asks the
// executor to end. Of one that was killed, and is not started again, it says so.
func (b *Broker) Run(ctx context.Context) error {
	sockets, err := openListeners(ctx, b.Listeners)
	if err != nil {
		return err
	}
	closeSockets := func() { _ = sockets.close() } // they may be closed
	defer closeSockets()
	defer context.AfterFunc(ctx, closeSockets)() // calls that come while the executor ends are refused
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting the executor: %w", err)
	}
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		b.relay(read)
	}()
	defer func() { write.Close(); <-relayed }()
	files := append([]*os.File{b.Power.Lock, write}, sockets.files...)
	if b.Latency != nil {
		files = append(files, b.Latency)
	}
	kept := child.Child{
		Command: b.command, Files: files, Broker: b.Power.Broker, Signals: b.Signals, Once: b.Once, Logger: b.Logger,
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return b.prepare(ctx) }) // beside the start of a process
	both.Go(func() error { return outcome(kept.Run(ctx)) })
	return both.Wait()
}

// prepare readies the broker, unless its end comes first.
func (b *Broker) prepare(ctx context.Context) error {
	if err := b.Power.Prepare(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// command is this process once more, as an executor that knows of no run yet. Systemd does not listen to it.
func (b *Broker) command() *exec.Cmd {
	b.Power.Broker.Forget()
	if b.Latency != nil {
		if err := cpuidle.Reset(b.Latency); err != nil {
			b.Logger.Warn("processors that a killed executor kept awake go on so", "error", err)
		}
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:noctx // package child ends it
	cmd.Args[0] = filepath.Base(os.Args[0]) + child.NameSuffix
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NOTIFY_SOCKET=") })
	cmd.Env = append(cmd.Env, b.names()) // the last setting of a variable counts
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

// relay tells systemd the words of the executors until the last one has closed its end of the pipe.
func (b *Broker) relay(from *os.File) {
	defer from.Close()
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		word := lines.Text()
		if !slices.Contains([]string{daemon.SdNotifyReady, daemon.SdNotifyStopping}, word) {
			continue
		}
		if _, err := daemon.SdNotify(false, word); err != nil {
			b.Logger.Warn("telling systemd", "state", word, "error", err)
		}
	}
}

// outcome is the end of an executor as the error with which its broker ends.
func outcome(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled():
		return yurt.Errorf(yurt.CodeInternal, "the executor was killed by signal %d (%s)", status.Signal(), status.Signal())
	case exit.ExitCode() == exitPanic:
		return yurt.Errorf(yurt.CodeInternal, "the executor has panicked; its reason is above")
	case exit.ExitCode() == exitTwo:
		return cli.ExitError(exitPanic)
	}
	return cli.ExitError(exit.ExitCode())
}
