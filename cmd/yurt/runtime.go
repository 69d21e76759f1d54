package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/runtimecmd"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/statedir"
)

// runtimeHost runs language runtimes on private nodes.
type runtimeHost struct{ *app }

// Runtimes implements [runtimecmd.Host].
func (runtimeHost) Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
	return localRuntimes(ctx)
}

// Do implements [runtimecmd.Host].
func (h runtimeHost) Do(ctx context.Context, path string, do func(context.Context) error) error {
	return h.withPrivateNode(ctx, do, func(c *executor.Config) error {
		c.PluginDir = testedDir(c.StateDir)
		if err := os.Mkdir(c.PluginDir, 0o700); err != nil {
			return err
		}
		return os.Symlink(path, filepath.Join(c.PluginDir, filepath.Base(path)))
	})
}

// testedDir is the plugin directory, in a state directory, that has a tested runtime alone: the broker and the executor know its place.
func testedDir(stateDir string) string { return filepath.Join(stateDir, statedir.TestedRuntime) }

// Start implements [runtimecmd.Host].
func (h runtimeHost) Start(ctx context.Context) (runtimecmd.Node, error) {
	node, err := h.startPrivateNode(ctx, func(c *executor.Config) { c.PluginDir = testedDir(c.StateDir) })
	if err != nil {
		return nil, err
	}
	return runtimeNode{node}, nil
}

// runtimeNode is a private node that runtimecmd removes.
type runtimeNode struct{ *privateNode }

// Remove implements [runtimecmd.Node].
func (n runtimeNode) Remove(ctx context.Context) { n.remove(ctx) }
