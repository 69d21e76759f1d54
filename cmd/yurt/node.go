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

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/internal/linux/power"
	"github.com/yurtrun/yurt/plugins/host"
)

// removalLimit bounds how long yurt run waits for its sandbox to be gone.
const removalLimit = 20 * time.Second

// localNode names the one node there is. It is not the host's name, which may change:
// sessions are found again by it.
const localNode = "local"

// privateNode is an executor of one run: on a state directory of its own, and gone with it.
type privateNode struct {
	*executor.Executor
	stateDir string
	stderr   io.Writer
}

// startPrivateNode starts an executor whose sandboxes end with its broker, see [app.withPrivateNode]. The caller calls remove.
func (a *app) startPrivateNode(ctx context.Context, changes ...func(*executor.Config)) (*privateNode, error) {
	if a.executor == nil {
		return nil, executor.CheckRoot()
	}
	config, err := a.privateConfig(a.executor.StateDir)
	if err != nil {
		return nil, err
	}
	config.Broker = a.executor.Socket
	for _, change := range changes {
		change(&config)
	}
	node, err := executor.New(config)
	if err != nil {
		return nil, err
	}
	private := &privateNode{Executor: node, stateDir: config.StateDir, stderr: a.Stderr}
	if err := node.Start(ctx); err != nil {
		private.remove(ctx)
		return nil, err
	}
	return private, nil
}

// privateConfig is that of a private node on the state directory.
func (a *app) privateConfig(stateDir string) (executor.Config, error) {
	config, err := nodeConfig(stateDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return config, err
	}
	config.Transient, config.Images = true, a.ownImages()
	config.Packages, err = a.sharedPackages()
	return config, err
}

// privateDir is the directory of a private node. A watcher removes the node if this process is killed.
type privateDir struct {
	path    string
	stderr  io.Writer
	watcher watcher
}

// newPrivateDir makes the directory of a private node. The caller calls remove.
func (a *app) newPrivateDir(ctx context.Context) (*privateDir, error) {
	path, err := os.MkdirTemp("", privateStatePrefix)
	if err != nil {
		return nil, fmt.Errorf("making a state directory: %w", err)
	}
	d := &privateDir{path: path, stderr: a.Stderr}
	if err := d.watcher.start(ctx, path); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return d, nil
}

// remove removes the directory, and the sandboxes that an executor has left which was killed.
func (d *privateDir) remove() {
	defer d.watcher.stop()
	err := executor.RemoveKilled(d.path)
	if err == nil {
		err = os.RemoveAll(d.path) // it is there still if it never had a node
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(d.stderr, "yurt: the node of this run could not be removed, see %s: %v\n", d.path, err)
	}
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

// remove ends the sandbox, also when ctx has ended. The broker removes the directories.
func (n *privateNode) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalLimit)
	defer cancel()
	if err := errors.Join(n.DestroyAll(ctx), n.Close()); err != nil {
		fmt.Fprintf(n.stderr, "yurt: the sandbox could not be removed cleanly: %v\n", err)
	}
}

// nodeConfig is that of a node with the helpers that lie beside this binary.
func nodeConfig(stateDir string, logger *slog.Logger) (executor.Config, error) {
	binaries, err := findBinaries()
	return executor.Config{
		StateDir: stateDir, NodeName: localNode, Version: version, Logger: logger,
		InitPath: binaries.Init, LauncherPath: binaries.Launcher, UnpackerPath: binaries.Unpacker, FilesPath: binaries.Files, PluginDir: binaries.PluginDir,
	}, err
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
		local := programs.New(programs.Config{PluginDir: binaries.PluginDir})
		defer local.Close()
		options = append(options, host.WithConfinement(programs.Runtimes{By: local}))
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
