package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/internal/linux/power"
	"github.com/yurtrun/yurt/plugins/host"
)

// removalLimit bounds how long yurt run waits for its sandbox to be gone.
const removalLimit = 20 * time.Second

// localNode names the one node there is. It is not the host's name, which may change:
// sessions are found again by it.
const localNode = "local"

// privateNode is an executor of one run: on a state directory of its own, and gone
// with it.
type privateNode struct {
	*executor.Executor
	stateDir string
	stderr   io.Writer
	watcher  watcher
}

// startPrivateNode starts an executor whose sandboxes end with this process, and whose directories are removed then, however that
// ends. The caller calls remove.
func (a *app) startPrivateNode(ctx context.Context, changes ...func(*executor.Config)) (*privateNode, error) {
	a.removeAbandoned()
	packages, err := a.sharedPackages()
	if err != nil {
		return nil, err
	}
	stateDir, err := os.MkdirTemp("", privateStatePrefix)
	if err != nil {
		return nil, fmt.Errorf("making a state directory: %w", err)
	}
	node, err := newExecutor(stateDir, slog.New(slog.DiscardHandler), func(c *executor.Config) {
		c.Transient, c.Packages, c.Images = true, packages, a.ownImages()
		for _, change := range changes {
			change(c)
		}
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(stateDir))
	}
	private := &privateNode{Executor: node, stateDir: stateDir, stderr: a.Stderr}
	var starting errgroup.Group // beside each other: the start of a process takes a millisecond
	starting.Go(func() error { return private.watcher.start(ctx, stateDir) })
	starting.Go(func() error { return node.Start(ctx) })
	if err := starting.Wait(); err != nil {
		private.remove(ctx)
		return nil, err
	}
	return private, nil
}

// privateStatePrefix begins the names of private nodes' state directories.
const privateStatePrefix = "yurt-run-"

// removeAbandoned removes the directories of runs that were killed before they could do so
// themselves. A failure to remove one does not stop this run.
func (a *app) removeAbandoned() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), privateStatePrefix+"*"))
	if err != nil {
		return // the pattern is malformed only if the directory's name is
	}
	for _, dir := range dirs {
		if err := executor.RemoveAbandoned(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(a.Stderr, "yurt: an earlier run left %s behind: %v\n", dir, err)
		}
	}
}

// remove ends the sandbox and removes the state directory, also when ctx has ended.
func (n *privateNode) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalLimit)
	defer cancel()
	defer n.watcher.stop()
	err := errors.Join(n.DestroyAll(ctx), n.Close())
	if err == nil {
		err = os.RemoveAll(n.stateDir)
	}
	if err != nil {
		fmt.Fprintf(n.stderr, "yurt: the sandbox could not be removed cleanly, see %s: %v\n", n.stateDir, err)
	}
}

// newExecutor makes an executor with the helpers that lie beside this binary.
func newExecutor(stateDir string, logger *slog.Logger, change func(*executor.Config)) (*executor.Executor, error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	config := executor.Config{
		StateDir: stateDir, Node: localNode, Version: version, Logger: logger,
		InitPath: binaries.Init, LauncherPath: binaries.Launcher, UnpackerPath: binaries.Unpacker, PluginDir: binaries.PluginDir,
	}
	change(&config)
	return executor.New(config)
}

func findBinaries() (executor.Binaries, error) {
	self, err := os.Executable()
	if err != nil {
		return executor.Binaries{}, fmt.Errorf("finding the helpers of yurt: %w", err)
	}
	return executor.FindBinaries(self)
}

// localRuntimes lists the language runtimes that lie beside this binary.
func localRuntimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	var options []host.Option
	if power.Held() {
		programs, err := confine.New()
		if err != nil {
			return nil, err
		}
		defer programs.Close()
		options = append(options, host.WithConfinement(programs))
	}
	runtimes := host.New(binaries.PluginDir, slog.New(slog.DiscardHandler), options...)
	defer runtimes.Close()
	if _, err := runtimes.Discover(ctx); err != nil {
		return nil, err
	}
	return runtimes.Runtimes(ctx)
}

// readChecksums returns the checksums in the file, or nil if no file is named.
func (a *app) readChecksums(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := a.ReadInput(file, host.MaxChecksumBytes)
	if err != nil {
		return nil, err
	}
	return host.ParseChecksums(string(text))
}
