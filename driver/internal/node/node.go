// Package node reaches the executor of this node, and starts it if it is missing. The executor lives on when the process
// that started it ends.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/internal/linux/flock"
)

// Executor is the executor of this node, which is started whenever it is found missing.
type Executor struct {
	config pluginconfig.Config
	logger *slog.Logger

	mu     sync.Mutex
	client *api.Client
}

// New returns an executor that is connected to, and started if need be, by the first call.
func New(config pluginconfig.Config, logger *slog.Logger) *Executor {
	return &Executor{config: config, logger: logger}
}

// Close ends the connection. The executor goes on.
func (n *Executor) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client != nil {
		n.client.Close()
	}
}

// Client returns a client, without a word to the executor.
func (n *Executor) Client() (*api.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client != nil {
		return n.client, nil
	}
	client, err := api.NewUnixClient(n.config.Socket())
	if err == nil {
		n.client = client
	}
	return client, err
}

const (
	// startLimit is how long an executor may take until it answers, on the busiest machine:
	// it takes over all sandboxes first.
	startLimit = 2 * time.Minute
	// lookEvery is how often one that is being started is looked for.
	lookEvery = 10 * time.Millisecond
	// answerLimit is how long one that is there may take to say so.
	answerLimit = 5 * time.Second
)

// Call calls do, again if need be, until an executor has answered, and starts one if it is missing. do can be repeated.
func (n *Executor) Call(ctx context.Context, do func(*api.Client) error) error {
	client, err := n.Client()
	if err != nil {
		return err
	}
	for {
		err := do(client)
		if !away(ctx, err) {
			return err
		}
		if err := n.ensure(ctx, client); err != nil {
			return err
		}
	}
}

// ensure returns when an executor answers.
func (n *Executor) ensure(ctx context.Context, client *api.Client) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if n.answers(ctx, client) {
		return nil
	}
	if err := os.MkdirAll(n.config.StateDir, 0o700); err != nil {
		return yurt.FieldErrorf(yurt.CodeUnavailable, "state_dir", "making the state directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(n.config.StateDir, "driver.lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("starting the executor: %w", err)
	}
	defer lock.Close()
	if err := flock.Take(lock, startLimit); err != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "another driver is starting the executor on %s: %w", n.config.StateDir, err)
	}
	if n.answers(ctx, client) { // the other has
		return nil
	}
	return n.start(ctx, client)
}

func (*Executor) answers(ctx context.Context, client *api.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := client.Describe(ctx)
	return err == nil
}

// start starts an executor and waits until it answers.
func (n *Executor) start(ctx context.Context, client *api.Client) error {
	child, err := n.spawn(ctx)
	if err != nil {
		return err
	}
	n.logger.Info("started the executor", "state_dir", n.config.StateDir, "pid", child.PID)
	for {
		if n.answers(ctx, client) {
			return nil
		}
		if err := child.ended(); err != nil {
			return yurt.Errorf(yurt.CodeUnavailable, "the executor ended at once: %w%s", err, n.lastWords())
		}
		select {
		case <-ctx.Done():
			return yurt.Errorf(yurt.CodeUnavailable, "the executor (process %d) does not answer: %w%s", child.PID, ctx.Err(), n.lastWords())
		case <-time.After(lookEvery):
		}
	}
}

// lastWords is the end of the executor's log, for an error to show.
func (n *Executor) lastWords() string {
	const most = 2000
	file, err := os.OpenFile(n.config.LogPath(), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return ""
	}
	buf := make([]byte, min(most, info.Size()))
	if _, err := file.ReadAt(buf, info.Size()-int64(len(buf))); err != nil {
		return ""
	}
	return "; its log ends: " + string(buf)
}

var errEnded = errors.New("its process is gone")

// ImageField is the field of the executor's errors about an image.
const ImageField = "rootfs.image"

// away reports whether the executor did not answer, as one does that was killed and is
// started again.
func away(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && yurt.CodeOf(err) == yurt.CodeUnavailable && !yurt.IsField(err, ImageField) // that is a registry
}
