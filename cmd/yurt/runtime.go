package main

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/runtimecmd"
	"github.com/yurtrun/yurt/executor"
)

// runtimeHost runs language runtimes on private nodes.
type runtimeHost struct{ *app }

// Runtimes implements [runtimecmd.Host].
func (runtimeHost) Runtimes(ctx context.Context) ([]yurt.RuntimeInfo, error) {
	return localRuntimes(ctx)
}

// Do implements [runtimecmd.Host].
func (h runtimeHost) Do(ctx context.Context, do func(context.Context) error) error {
	return h.withPrivateNode(ctx, do)
}

// Start implements [runtimecmd.Host].
func (h runtimeHost) Start(ctx context.Context, pluginDir string) (runtimecmd.Node, error) {
	node, err := h.startPrivateNode(ctx, func(c *executor.Config) { c.PluginDir = pluginDir })
	if err != nil {
		return nil, err
	}
	return runtimeNode{node}, nil
}

// runtimeNode is a private node that runtimecmd removes.
type runtimeNode struct{ *privateNode }

// Remove implements [runtimecmd.Node].
func (n runtimeNode) Remove(ctx context.Context) { n.remove(ctx) }
