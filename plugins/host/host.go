// Package host starts language runtimes and asks them for plans; the executor is its caller.
//
// A host finds the binaries named yurt-runtime-* in a plugin directory, starts one when it is first needed,
// negotiates the protocol version, restarts runtimes that crashed and kills runtimes that hang. A
// broken runtime costs its own requests and no others. Each process gets a minimal
// environment, is reached over mutual TLS on a socket whose name is gone once the
// host is connected, and dies with the host, however that ends. The host checks every answer, since it trusts no runtime.
package host

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/binary"
	"github.com/yurtrun/yurt/plugins/hclogslog"
)

// Host starts the language runtimes of one plugin directory and asks them for
// plans. A runtime is started by the first request that needs it and runs until
// [Host.Close]; one that crashes is started again, one that hangs is killed, and
// neither disturbs the others. Runtimes die with the host's process, even if that
// is killed. All methods are safe for concurrent use.
type Host struct {
	dir     string
	opts    options
	log     hclog.Logger
	starter *starter
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup // of starts and stops

	mu        sync.Mutex // guards the fields below
	installed map[string]*installed
	refused   map[string]error // binaries that must not be started
	scanned   bool
	closed    bool
}

var errHostClosed = errors.New("was stopped with its host")

// New returns a host for the runtimes in dir, and does not start them. The caller must call [Host.Close] before the process
// ends.
func New(dir string, logger *slog.Logger, opts ...Option) *Host {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Host{
		dir:       dir,
		opts:      defaultOptions(),
		log:       hclogslog.New(logger),
		starter:   newStarter(),
		ctx:       ctx,
		cancel:    cancel,
		installed: map[string]*installed{},
		refused:   map[string]error{},
	}
	for _, opt := range opts {
		opt(&h.opts)
	}
	return h
}

// Close kills every runtime and waits until they are gone. Calls that still run
// fail. It may be called more than once.
func (h *Host) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	all := slices.Collect(maps.Values(h.installed))
	h.mu.Unlock()

	h.cancel()
	for _, r := range all {
		r.remove(errHostClosed)
	}
	h.wg.Wait()
	h.starter.close()
}

// Discover reads the plugin directory: new runtimes can be used from now on, vanished or replaced ones are stopped. It starts no
// runtime, and returns their names. Files that others than root and the current user could have changed are refused, and
// reported by [Host.Broken].
func (h *Host) Discover(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := binary.CheckDir(h.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, yurt.Errorf(yurt.CodeRuntimeUnavailable, "the plugin directory %s does not exist; create it and put the language runtimes (%s*) into it", h.dir, plugins.BinaryPrefix)
	}
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeRuntimeUnavailable, "the plugin directory %s cannot be used: %w", h.dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, yurt.Errorf(yurt.CodeRuntimeUnavailable, "the plugin directory %s cannot be read: %w", h.dir, err)
	}
	found := map[string]*installed{}
	refused := map[string]error{}
	descriptions := h.readDescriptions(dir)
	for _, entry := range entries {
		name, ok := strings.CutPrefix(entry.Name(), plugins.BinaryPrefix)
		if !ok || !binary.ValidName(name) {
			continue
		}
		path, id, err := binary.Check(filepath.Join(dir, entry.Name()))
		if err != nil {
			refused[name] = yurt.Errorf(yurt.CodeRuntimeUnavailable, "runtime %s is not started: %w", name, err)
			continue
		}
		found[name] = h.newInstalled(name, path, id, descriptions)
	}
	return h.adopt(found, refused)
}

// adopt makes found the installed runtimes; those that did not change stay.
func (h *Host) adopt(found map[string]*installed, refused map[string]error) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, closedError()
	}
	for name, old := range h.installed {
		if now, ok := found[name]; ok && now.path == old.path && now.id == old.id {
			found[name] = old
			continue
		}
		h.log.Info("runtime was removed or replaced", "runtime", name)
		h.wg.Go(func() { old.remove(errors.New("was removed or replaced")) })
	}
	for name, err := range refused {
		if h.refused[name] == nil || h.refused[name].Error() != err.Error() {
			h.log.Error("runtime refused", "runtime", name, "error", err)
		}
	}
	h.installed, h.refused, h.scanned = found, refused, true
	return slices.Sorted(maps.Keys(found)), nil
}

// Runtimes looks at the plugin directory and lists the runtimes that work, by name. It starts those that it does not know yet;
// [Host.Broken] has the faults of the others.
func (h *Host) Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
	if _, err := h.Discover(ctx); err != nil {
		return nil, err
	}
	list := []yurt.RuntimeInfo{}
	for _, d := range h.describeAll(ctx, nil) {
		if d.err == nil {
			list = append(list, d.info)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return list, nil
}

// Broken tells why runtimes do not work, by name: those that are refused, and those whose last start or call failed. It starts
// no runtime; a runtime that has not been started yet is not broken.
func (h *Host) Broken() map[string]error {
	h.mu.Lock()
	broken := maps.Clone(h.refused)
	all := maps.Clone(h.installed)
	h.mu.Unlock()
	for name, r := range all {
		if err := r.lastError(); err != nil {
			broken[name] = err
		}
	}
	return broken
}

func closedError() error {
	return yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down; use another")
}
