package executor

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/headroom"
)

const (
	// reserveFile, in the state directory, keeps room for what ends something while the disk is full.
	reserveFile = "reserve"
	reserveSize = 1 << 20
	// retryFull is how long callers are asked to wait while the disk is full: someone has to make room.
	retryFull = 5 * time.Second
)

// newRoom returns the room that an executor keeps in its state directory. One that leaves nothing behind keeps none.
func newRoom(config Config) *headroom.Room {
	size := int64(reserveSize)
	if config.Transient {
		size = 0
	}
	return headroom.New(filepath.Join(config.StateDir, reserveFile), size)
}

// checkDisk refuses what is new while the disk of one of the executor's directories is full. What it would need then
// could not be written, and half of it might be done by then.
func (e *Executor) checkDisk() error {
	err := cmp.Or(e.room.Check(), headroom.Check(e.runDir))
	if errors.Is(err, headroom.ErrFull) {
		return e.diskFull(err)
	}
	return nil // that it cannot be asked shows when something is written
}

// diskFull is the error of what there is no room for. It names no path: it is for users of sandboxes too.
func (e *Executor) diskFull(cause error) error {
	err := yurt.Errorf(yurt.CodeDiskFull, "the disk of node %s is full: sandboxes can be ended, and nothing new begins there until there is room%w", e.config.Node, yurt.Hidden(cause))
	err.RetryAfter = retryFull
	return err
}

// explainFull gives an error whose reason is a full disk the code and the words that say so. Programs of other
// processes say it in words.
func (e *Executor) explainFull(err *error) {
	full := *err != nil && (headroom.IsFull(*err) || strings.Contains((*err).Error(), unix.ENOSPC.Error()))
	if code := yurt.CodeOf(*err); !full || code != yurt.CodeInternal && code != yurt.CodeSandboxFailed {
		return // it is about something else, such as the sandbox's own disk
	}
	if e.checkDisk() == nil && !isOfFile(*err) {
		return // what has no room is no disk of ours
	}
	e.logger.Error("the disk is full", "error", *err)
	*err = e.diskFull(*err)
}

// isOfFile reports whether a file has no room, as opposed to a table of the kernel's.
func isOfFile(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && headroom.IsFull(path.Err)
}
