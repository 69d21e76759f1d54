package start

import (
	"context"
	"log/slog"
	"time"

	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins/host"
)

// Sandbox is a sandbox with the zygotes in it.
type Sandbox struct {
	*sandbox.Sandbox

	zygotes zygotes
}

// NewSandbox adds the zygotes of the sandbox, which start later. On cgroup v2 their forks are parked.
func NewSandbox(s *sandbox.Sandbox, cgroupVersion int) *Sandbox {
	return &Sandbox{Sandbox: s, zygotes: zygotes{parks: cgroupVersion == 2}}
}

// ForStart returns the sandbox as this package has it, of a handle that embeds it.
func (s *Sandbox) ForStart() *Sandbox { return s }

// Engine starts processes in the sandboxes of a node.
type Engine struct {
	logger        *slog.Logger
	runtimes      *host.Host
	zygoteTimeout time.Duration
	goes          func(do func())
	ctx           context.Context //nolint:containedctx // it is the executor's life: done when the executor is closed
}

// NewEngine returns the engine of an executor, which lives until ctx is done. goes starts a goroutine
// that the executor waits for; it ends soon after ctx does.
func NewEngine(ctx context.Context, logger *slog.Logger, runtimes *host.Host, goes func(do func())) *Engine {
	return &Engine{logger: logger, runtimes: runtimes, zygoteTimeout: zygoteTimeout, goes: goes, ctx: ctx}
}

// GrantZygotes sets how long a zygote may take to be ready, as a slow machine needs it.
func (e *Engine) GrantZygotes(timeout time.Duration) { e.zygoteTimeout = timeout }
