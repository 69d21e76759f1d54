package kernel

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// kernelTraces holds the facts about kernels that the logs of executions contain.
type kernelTraces struct {
	cells []*cell           // that have not ended
	seqs  map[string]uint64 // by kernel: the last chunk of its output that is in a log
}

func newKernelTraces() kernelTraces { return kernelTraces{seqs: make(map[string]uint64)} }

// note takes over where an execution in a context was.
func (t *kernelTraces) note(kernelID string, seq uint64) {
	if kernelID != "" {
		t.seqs[kernelID] = max(t.seqs[kernelID], seq)
	}
}

// of takes the cells of a context out, in the order in which they came.
func (t *kernelTraces) of(key contextKey) []*cell {
	var mine, others []*cell
	for _, c := range t.cells {
		if c.key() == key {
			mine = append(mine, c)
		} else {
			others = append(others, c)
		}
	}
	t.cells = others
	slices.SortStableFunc(mine, func(a, b *cell) int {
		return cmp.Or(boolOrder(a.begunAt.IsZero(), b.begunAt.IsZero()), a.run.StartedAt.Compare(b.run.StartedAt))
	})
	return mine
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

func (c *cell) key() contextKey {
	return contextKey{c.run.Record.Cell.Language, c.run.Record.Cell.ContextName}
}

// adoptKernels goes on with the kernels of a sandbox and with the executions in them.
func (e *Engine) adoptKernels(s *Sandbox, traces *kernelTraces, by run.Adoption) error {
	if err := e.adoptDebts(s); err != nil {
		e.logger.Warn("some executions will not be told that their kernel is another", "sandbox", s.ID(), "error", err)
	}
	entries, err := os.ReadDir(s.Path(sandbox.KernelsDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.logger.Warn("kernels not taken over", "sandbox", s.ID(), "error", err)
	}
	for _, entry := range entries {
		err := e.adoptKernel(s, entry.Name(), traces, by)
		if err != nil && by.Leaves() {
			return err
		}
		if err != nil {
			e.logger.Warn("kernel not taken over", "sandbox", s.ID(), "kernel", entry.Name(), "error", err)
			p := e.newKernelProcess(s, entry.Name())
			p.Kill()
			p.Close()
		}
	}
	// The remaining cells have no kernel: they had begun in a kernel that is gone, or have yet to begin.
	for _, c := range traces.cells {
		if !c.begunAt.IsZero() {
			c.End(protocol.Outcome{Why: "the interpreter ended while its node was restarted", StateLost: true})
			continue
		}
		if err := e.submitAgain(s, c); err != nil {
			c.End(protocol.Outcome{Err: err})
		}
	}
	return nil
}

func (e *Engine) submitAgain(s *Sandbox, c *cell) error {
	sc, err := e.contextOf(s, *c.run.Record.Cell)
	if err != nil {
		return err
	}
	return sc.Submit(c)
}

// adoptKernel goes on with one kernel.
func (e *Engine) adoptKernel(s *Sandbox, id string, traces *kernelTraces, by run.Adoption) (err error) {
	if !yurt.ValidID(yurt.KernelIDPrefix, id) {
		return errors.New("its record is not named after one")
	}
	var record kernelRecord
	if err := records.Read(s.kernelPath(id), &record); err != nil {
		return err
	}
	if record.ID != id || record.Version > records.Version {
		return errors.New("its record is another's, or a newer version's")
	}
	if record.Function {
		return e.endFunction(s, record)
	}
	sc, err := e.contextOf(s, yurt.ExecutionSpec{Language: record.Language, ContextName: record.Context})
	if err != nil {
		return err
	}
	sc.created = record.CreatedAt
	defer func() {
		if err != nil && !by.Leaves() {
			sc.Replaced()
		}
	}()
	p := e.newKernelProcess(s, id)
	if p.requests, err = s.Plans.OpenPipe(p.requestsPath()); err != nil {
		return err
	}
	seq := traces.seqs[id]
	err = by.Ask(func(ctx context.Context) (err error) {
		p.out, err = s.Init.AttachBeyond(ctx, id, seq)
		return err
	})
	if err != nil {
		return errors.Join(err, p.requests.Close())
	}
	if p.usage, err = s.Broker.OpenRun(s.ID(), id); err != nil {
		e.logger.Error("a kernel was taken over without its usage", "sandbox", s.ID(), "kernel", id, "error", err)
	}
	p.follow()
	if err := p.endQuestion(); err != nil {
		e.logger.Warn("a question to a kernel was not interrupted", "sandbox", s.ID(), "kernel", id, "error", err)
	}
	mine := traces.of(sc.key)
	cells := make([]protocol.Cell, len(mine))
	for i, c := range mine {
		cells[i] = c
	}
	sc.Adopt(p, seq, cells)
	return nil
}

// endFunction ends the process of a function, and has its next invocation report that.
func (e *Engine) endFunction(s *Sandbox, record kernelRecord) error {
	key := contextKey{functionLanguage, record.Context}
	s.debts[key] = time.Now()
	if err := s.writeDebt(key, s.debts[key], true); err != nil {
		return err
	}
	p := e.newKernelProcess(s, record.ID)
	p.Kill()
	p.Close()
	return nil
}

// cellTrace follows, through the log of an execution in a context, where it is in its
// kernel's output.
type cellTrace struct {
	kernel  string
	seq     uint64
	begunAt time.Time
}

func (t *cellTrace) position(at time.Time, data []byte) {
	t.seq, t.kernel = decodePosition(data)
	t.begunAt = at
}

// output counts an entry of output. Output before the first position belongs to no chunk.
func (t *cellTrace) output() {
	if !t.begunAt.IsZero() {
		t.seq++
	}
}

// adoptCell makes the handle of an execution in a context that has not ended.
func (s *Sandbox) adoptCell(r *run.Run, trace cellTrace) *cell {
	c := newCell(r)
	c.kernel, c.seq, c.begunAt, c.adopted = trace.kernel, trace.seq, trace.begunAt, !trace.begunAt.IsZero()
	result, control := r.ReadOutput()
	for i, size := range []int64{result.OutputBytes(yurt.EventStdout), result.OutputBytes(yurt.EventStderr), int64(len(control))} {
		c.left[i] = max(c.left[i]-size, 0)
	}
	s.Adopt(r)
	return c
}
