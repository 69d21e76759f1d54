package run

import (
	"context"
	"log/slog"
	"time"

	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/plugins/host"
)

// attachTimeout bounds how long the init of a sandbox that is taken over may take to hand out the output
// of a run. It is generous, since an execution that is given up is lost.
const attachTimeout = time.Minute

// Engine begins executions in the sandboxes of a node, and follows each until it has its result.
type Engine struct {
	logger        *slog.Logger
	runtimes      *host.Host
	starter       *start.Engine
	attachTimeout time.Duration
	goes          func(do func())
	ctx           context.Context //nolint:containedctx // it is the executor's life: done when the executor is closed
}

// NewEngine returns the engine of an executor, which lives until ctx is done. goes starts a goroutine
// that the executor waits for; it ends soon after ctx does.
func NewEngine(ctx context.Context, logger *slog.Logger, runtimes *host.Host, starter *start.Engine, goes func(do func())) *Engine {
	return &Engine{logger: logger, runtimes: runtimes, starter: starter, attachTimeout: attachTimeout, goes: goes, ctx: ctx}
}

// LimitAttach sets how long the init of a sandbox may take to hand out the output of a run.
func (e *Engine) LimitAttach(timeout time.Duration) { e.attachTimeout = timeout }
