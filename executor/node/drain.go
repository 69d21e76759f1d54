package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/notify"
	"github.com/yurtrun/yurt/executor/records"
)

type drainRecord struct {
	Version int       `json:"version"`
	Since   time.Time `json:"since"`
}

// SetDraining has the node refuse or accept new work: claims, sandboxes, slots. Work that has begun
// goes on. The state lasts until it is undone, over restarts.
func (n *Node) SetDraining(ctx context.Context, draining bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return n.drain.set(draining)
}

// drain is the state in which a node accepts no new work.
type drain struct {
	path    string // of its record, which exists while the node drains
	changes *notify.Hub

	mu  sync.Mutex // while it changes
	now atomic.Bool
}

func (d *drain) isSet() bool { return d.now.Load() }

// set changes the state, on disk first.
func (d *drain) set(draining bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch was := d.now.Load(); {
	case draining && !was:
		if err := records.Write(d.path, drainRecord{Version: records.Version, Since: time.Now()}); err != nil {
			return fmt.Errorf("recording that the node drains: %w", err)
		}
	case !draining:
		if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("recording that the node does not drain: %w", err)
		}
	}
	d.now.Store(draining)
	d.changes.Notify(notify.Any)
	return nil
}

// read restores the state of an earlier executor.
func (d *drain) read() error {
	switch _, err := os.Stat(d.path); {
	case err == nil:
		d.now.Store(true)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("looking whether the node drains: %w", err)
	}
}

// awaitEnd returns when the node does not drain.
func (d *drain) awaitEnd(ctx context.Context) error {
	changed, leave := d.changes.Subscribe(notify.Any)
	defer leave()
	for d.now.Load() {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func errDraining() error {
	return yurt.Errorf(yurt.CodeUnavailable, "this node is being drained and takes no new sandboxes; try again when another node is free, or end the drain with yurt node drain --undo")
}
