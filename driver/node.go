package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/internal/linux/flock"
)

// node is the executor of this node, which is started whenever it is found missing.
type node struct {
	config Config
	logger *slog.Logger

	mu     sync.Mutex
	client *api.Client
}

func newNode(config Config, logger *slog.Logger) *node { return &node{config: config, logger: logger} }

func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client != nil {
		n.client.Close()
	}
}

// connect returns a client, without a word to the executor.
func (n *node) connect() (*api.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client != nil {
		return n.client, nil
	}
	client, err := api.NewUnixClient(n.config.socket())
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

// call calls do, again if need be, until an executor has answered, and starts one if the node has none. do can be repeated.
func (n *node) call(ctx context.Context, do func(*api.Client) error) error {
	client, err := n.connect()
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
func (n *node) ensure(ctx context.Context, client *api.Client) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if n.answers(ctx, client) {
		return nil
	}
	if err := os.MkdirAll(n.config.StateDir, 0o700); err != nil {
		return yurt.FieldErrorf(yurt.CodeUnavailable, "state_dir", "making the state directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(n.config.StateDir, "driver.lock"), os.O_RDWR|os.O_CREATE, 0o600)
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

func (*node) answers(ctx context.Context, client *api.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := client.Describe(ctx)
	return err == nil
}

// start starts an executor and waits until it answers.
func (n *node) start(ctx context.Context, client *api.Client) error {
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
func (n *node) lastWords() string {
	const most = 2000
	file, err := os.Open(n.config.logPath())
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
