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

// watcher is a shell that reads from this process. A line tells it that all is removed. The end of its input without a line
// tells it that this process was killed, however that was; then it becomes the command that removes the node.
const watcher = `read -r removed || exec "$0" ` + removeCommand + ` "$1"`

// watch starts a process that removes the node if this process is killed. The caller calls the returned function when the node is
// removed.
func (n *privateNode) watch(ctx context.Context) (removed func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding yurt: %w", err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", watcher, self, n.stateDir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a signal to this process's group is not for it
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the process that removes the sandboxes if this one is killed: %w", err)
	}
	return func() error {
		_, err := io.WriteString(in, "removed\n")
		return errors.Join(err, in.Close(), cmd.Wait())
	}, nil
}

// newRemoveKilledCommand is the command of [watcher], which people do not call.
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
