package kernel

import (
	"context"
	"log/slog"
	"time"

	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/plugins/host"
)

// Sandbox is a sandbox with the contexts and functions in it.
type Sandbox struct {
	*run.Sandbox

	// The sandbox's lock guards these.
	contexts map[contextKey]*sessionContext
	debts    map[contextKey]time.Time // contexts that are not here yet, and have lost a kernel
}

// NewSandbox adds the contexts of the sandbox, which start empty.
func NewSandbox(s *run.Sandbox) *Sandbox {
	return &Sandbox{Sandbox: s, contexts: make(map[contextKey]*sessionContext), debts: make(map[contextKey]time.Time)}
}

// Engine keeps the contexts and functions of the sandboxes of a node.
type Engine struct {
	logger   *slog.Logger
	runtimes *host.Host
	starter  *start.Engine
	runs     *run.Engine
	planner  Planner
	goes     func(do func())
	ctx      context.Context //nolint:containedctx // it is the executor's life: done when the executor is closed
}

// Planner asks for the layers that the template of a sandbox has.
type Planner interface {
	Plan(ctx context.Context, s *sandbox.Sandbox) error
}

// Parts are the parts of the executor that an engine needs.
type Parts struct {
	Logger   *slog.Logger
	Runtimes *host.Host
	Starter  *start.Engine
	Runs     *run.Engine
	Planner  Planner
	// Go starts a goroutine that the executor waits for; it ends soon after the executor is closed.
	Go func(do func())
}

// NewEngine returns the engine of an executor, which lives until ctx is done.
func NewEngine(ctx context.Context, p Parts) *Engine {
	return &Engine{logger: p.Logger, runtimes: p.Runtimes, starter: p.Starter, runs: p.Runs, planner: p.Planner, goes: p.Go, ctx: ctx}
}
