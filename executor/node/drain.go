package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/notify"
	"github.com/yurtrun/yurt/executor/records"
)

// drainFile is there, in the state directory, while the node drains.
const drainFile = "draining.json"

type drainRecord struct {
	Version int       `json:"version"`
	Since   time.Time `json:"since"`
}

// SetDraining has the node take nothing new, or again: no claim, no sandbox, no slot.
// What is there goes on. It lasts until it is undone, over restarts.
func (n *Node) SetDraining(ctx context.Context, draining bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	path := filepath.Join(n.config.StateDir, drainFile)
	switch was := n.draining.Load(); {
	case draining && !was:
		if err := records.Write(path, drainRecord{Version: records.Version, Since: time.Now()}); err != nil {
			return fmt.Errorf("recording that the node drains: %w", err)
		}
	case !draining:
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("recording that the node does not drain: %w", err)
		}
	}
	n.draining.Store(draining)
	n.changes.Notify(notify.Any)
	return nil
}

// readDraining goes on draining where an earlier executor did.
func (n *Node) readDraining() error {
	switch _, err := os.Stat(filepath.Join(n.config.StateDir, drainFile)); {
	case err == nil:
		n.draining.Store(true)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("looking whether the node drains: %w", err)
	}
}

// awaitUndrained returns when the node does not drain.
func (n *Node) awaitUndrained(ctx context.Context) error {
	rung, leave := n.changes.Subscribe(notify.Any)
	defer leave()
	for n.draining.Load() {
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func errDraining() error {
	return yurt.Errorf(yurt.CodeUnavailable, "this node is being drained and takes nothing new")
}
