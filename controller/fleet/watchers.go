package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/life"
)

const watchRetry = time.Second // before a node whose watch broke is watched again

// nodeWatchers watches every node for sandboxes that die.
type nodeWatchers struct {
	k     *Keeper
	tasks sync.WaitGroup

	mu      sync.Mutex
	watched map[string]bool // by node
}

func newNodeWatchers(k *Keeper) *nodeWatchers {
	return &nodeWatchers{k: k, watched: map[string]bool{}}
}

// refresh watches the nodes that are not watched yet, until ctx is done.
func (w *nodeWatchers) refresh(ctx context.Context) {
	nodes, err := w.k.placer.Nodes(ctx)
	if err != nil {
		w.k.life.Log.Error("listing nodes", "error", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range nodes {
		if w.watched[name] {
			continue
		}
		w.watched[name] = true
		w.tasks.Go(func() {
			w.watch(ctx, name)
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.watched, name)
		})
	}
}

// watch follows one node until it is gone, and gives it back to refresh.
func (w *nodeWatchers) watch(ctx context.Context, name string) {
	for ctx.Err() == nil {
		node, err := w.k.placer.Node(ctx, name)
		if err == nil {
			err = node.WatchSandboxes(ctx, func(dead yurt.Sandbox) { w.k.sandboxDied(dead) })
		}
		if yurt.CodeOf(err) == yurt.CodeNotFound {
			return
		}
		if ctx.Err() == nil {
			w.k.life.Log.Error("watching the sandboxes of a node", "node", name, "error", err)
			life.Sleep(ctx, watchRetry)
		}
	}
}

func (w *nodeWatchers) wait() { w.tasks.Wait() }

// sandboxDied fails the session of a sandbox that died.
func (k *Keeper) sandboxDied(dead yurt.Sandbox) {
	owner := dead.Labels[yurt.SessionLabel]
	if owner == "" {
		return
	}
	k.life.Background(func(ctx context.Context) {
		if err := k.sessions.Fail(ctx, owner, deathReason(dead)); err != nil {
			k.life.Log.Error("failing a session whose sandbox died", "session", owner, "sandbox", dead.ID, "error", err)
		}
	})
}
