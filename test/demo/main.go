package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/leftovers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ui := newScreen(os.Stdout)
	if err := run(ctx, ui); err != nil {
		ui.failed(err)
		os.Exit(1) //nolint:gocritic // stop only forgets a signal handler
	}
}

// demo is the state that the steps share.
type demo struct {
	*screen
	client
	binary, stateDir string
	server           *devserver.Server
	session          session // of the steps that use one
}

func run(ctx context.Context, ui *screen) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding yurt beside this program: %w", err)
	}
	stateDir, err := os.MkdirTemp("", "yurt-demo-")
	if err != nil {
		return fmt.Errorf("making a state directory: %w", err)
	}
	defer func() { err = errors.Join(err, removeState(stateDir)) }()
	d := &demo{screen: ui, binary: filepath.Join(filepath.Dir(self), "yurt"), stateDir: stateDir}
	d.title()
	if err := d.start(ctx, "127.0.0.1:0"); err != nil {
		return err
	}
	for _, step := range d.steps() {
		if err = step(ctx); err != nil {
			return errors.Join(err, d.abandon())
		}
	}
	return d.finish(ctx)
}

// removeState removes the state directory, unless there is a mount below it: to remove through a
// mount would be to remove the mounted files.
func removeState(dir string) error {
	left, err := leftovers.Of(dir)
	if err != nil {
		return err
	}
	if len(left.Mounts) > 0 {
		return fmt.Errorf("%s is kept, as file systems are still mounted below it", dir)
	}
	return os.RemoveAll(dir)
}

func (d *demo) title() {
	d.line("")
	d.line("   " + d.paint(bold, "Yurt") + ": sandboxes for code that nobody has read")
	d.line("   " + d.paint(dim, fmt.Sprintf("real requests, real answers, on this machine (%d cores, %s)", runtime.NumCPU(), kernel())))
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return "Linux " + strings.TrimSpace(string(release))
}

// start starts the server and points the client at it.
func (d *demo) start(ctx context.Context, listen string) error {
	server, err := devserver.Start(ctx, d.binary, d.stateDir, listen)
	if err != nil {
		return err
	}
	d.server = server
	d.client = client{base: server.URL, http: &http.Client{Timeout: time.Minute}}
	return nil
}

// abandon ends the server that a failed step has left behind, and keeps the log in the error.
func (d *demo) abandon() error {
	tail := d.server.LogTail()
	if err := d.server.Stop(); err != nil {
		return fmt.Errorf("%w\nthe server's log ended:\n%s", err, tail)
	}
	return fmt.Errorf("the server's log ended:\n%s", tail)
}
