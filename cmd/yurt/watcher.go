package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
	"github.com/yurtrun/yurt/executor"
)

// removeCommand removes a private node that was killed.
const removeCommand = "remove-killed"

// watching is the program of a [watcher]. A line tells it that all is removed. The end of its input without a line tells it that
// this process was killed, however that was; then it becomes the command that removes the node.
const watching = `read -r removed || exec "$0" ` + removeCommand + ` "$1"`

// watcher is a shell that reads from this process, and removes its private node if this process is killed.
type watcher struct {
	shell *exec.Cmd
	in    io.WriteCloser
}

// start starts the shell for the node on the state directory.
func (w *watcher) start(ctx context.Context, stateDir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding yurt: %w", err)
	}
	shell := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", watching, self, stateDir)
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a signal to this process's group is not for it
	in, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		return fmt.Errorf("starting the process that removes the sandboxes if this one is killed: %w", err)
	}
	w.shell, w.in = shell, in
	return nil
}

// stop tells the shell that the node is removed, and waits for its end. A shell that was killed is no failure: there is no work for it.
func (w *watcher) stop() {
	if w.shell == nil {
		return
	}
	_, _ = io.WriteString(w.in, "removed\n")
	_ = w.in.Close()
	_ = w.shell.Wait()
}

// newRemoveKilledCommand is the command that a [watcher] becomes. People do not call it.
func newRemoveKilledCommand() *cobra.Command {
	return &cobra.Command{
		Use:    removeCommand + " DIRECTORY",
		Short:  "Remove the sandboxes of a yurt that ran them itself and was killed",
		Hidden: true,
		Args:   arguments.Between(1, 1, "the state DIRECTORY of that yurt"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !strings.HasPrefix(filepath.Base(args[0]), privateStatePrefix) {
				return yurt.FieldErrorf(yurt.CodeInvalidArgument, "DIRECTORY", "%q is not the state directory of a yurt that ran sandboxes itself; their names begin with %s", args[0], privateStatePrefix)
			}
			if err := executor.RemoveKilled(args[0]); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil // it is removed already
		},
	}
}
