package headroom

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// retryFull is how long callers wait before they try again while the disk is full: an operator has to make room.
const retryFull = 5 * time.Second

// Guard refuses new work while the disk of one of a node's directories is full, and tells callers the reason.
type Guard struct {
	Node   string // its name, for messages
	Room   *Room  // on the disk of the state directory
	RunDir string // the other directory
	Logger *slog.Logger
}

// Check refuses new work while the disk of one of the directories is full. Such work would fail half done, when it
// writes its record.
func (g *Guard) Check() error {
	err := cmp.Or(g.Room.Check(), Check(g.RunDir))
	if errors.Is(err, ErrFull) {
		return g.full(err)
	}
	return nil // a directory that cannot be asked shows at the next write
}

// full is the error of a call that finds the disk full. It names no path, since users of sandboxes read it.
func (g *Guard) full(cause error) error {
	err := yurt.Errorf(yurt.CodeDiskFull, "the disk of node %s is full: sandboxes can be ended, and no sandbox or execution begins there until there is room%w", g.Node, yurt.Hidden(cause))
	err.RetryAfter = retryFull
	return err
}

// Explain gives an error whose reason is a full disk the code and the words that say so. Programs of other
// processes report a full disk in words alone.
func (g *Guard) Explain(err *error) {
	full := *err != nil && (IsFull(*err) || strings.Contains((*err).Error(), unix.ENOSPC.Error()))
	if code := yurt.CodeOf(*err); !full || code != yurt.CodeInternal && code != yurt.CodeSandboxFailed {
		return // the error has another subject, such as the sandbox's own disk
	}
	if g.Check() == nil && !isOfFile(*err) {
		return // another resource of the kernel is full, not a disk of ours
	}
	g.Logger.Error("the disk is full", "error", *err)
	*err = g.full(*err)
}

// isOfFile reports whether a write to a file failed, as opposed to a table of the kernel's.
func isOfFile(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && IsFull(path.Err)
}
