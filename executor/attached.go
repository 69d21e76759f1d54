package executor

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/run"
)

// Stdio are descriptors that an execution gets as they are; see [run.Stdio] for which ones are safe.
type Stdio = run.Stdio

// StartAttached is StartExecution with descriptors of the caller's own, which stay the
// caller's to close, and may be closed as soon as it returns. What goes through them costs the node nothing: it is neither
// counted, limited nor kept, and is not in the result.
func (e *Executor) StartAttached(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec, stdio Stdio) error {
	if err := stdio.Check(spec); err != nil {
		return err
	}
	return e.startExecution(ctx, sandboxID, spec, stdio)
}
