package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/runlog"
)

// adoptAll takes over the sandboxes that an earlier executor left, and removes
// what was half made or is dead. When something is a newer version's it fails, and
// leaves that as it is. When ctx ends it fails too, with a sandbox taken over whole or
// not touched: one that a caller gives up in the middle would be taken for dead.
func (e *Executor) adoptAll(ctx context.Context) error {
	ids, err := e.leftSandboxes()
	if err != nil {
		return err
	}
	var known []string
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("taking over sandboxes: %w", err)
		}
		err := e.adopt(context.WithoutCancel(ctx), id)
		if errors.Is(err, records.ErrNewer) {
			return yurt.Errorf(yurt.CodeUnavailable, "sandbox %s in %s cannot be taken over: %w; it is left as it is, start that version again", id, e.config.StateDir, err)
		}
		if err != nil {
			e.logger.Warn("sandbox not taken over, removing it", "sandbox", id, "reason", err)
			if err := e.removeRemains(id); err != nil {
				return err
			}
			continue
		}
		known = append(known, id)
	}
	return e.removeStrayGroups(known)
}

// leftSandboxes returns the ids of all sandboxes that there is something of: after a reboot
// it may be on disk alone.
func (e *Executor) leftSandboxes() ([]string, error) {
	var ids []string
	for _, dir := range []string{e.runDir, e.config.StateDir} {
		entries, err := os.ReadDir(filepath.Join(dir, rundir.Sandboxes))
		if err != nil {
			return nil, fmt.Errorf("looking for sandboxes: %w", err)
		}
		for _, entry := range entries {
			if yurt.ValidID(yurt.SandboxIDPrefix, entry.Name()) { // else it is not ours
				ids = append(ids, entry.Name())
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// adopt takes over one sandbox, or says why it cannot.
func (e *Executor) adopt(ctx context.Context, id string) error {
	path := filepath.Join(e.dirOf(id), recordFile)
	if err := records.CheckVersion(path); err != nil {
		return err
	}
	var record sandboxRecord
	if err := records.Read(path, &record); err != nil {
		return err
	}
	in, err := e.slots.Of(record.Slot)
	if err != nil {
		return err
	}
	s := e.newSandbox(record, e.cgroups.Open(id), in)
	if err := e.takeBack(ctx, s); err != nil {
		if in != nil && in.Spec.Once && !record.Warm && !errors.Is(err, records.ErrNewer) {
			e.slots.End(in, "its sandbox was lost: "+err.Error(), false)
		}
		return err
	}
	return nil
}

// takeBack takes over a sandbox, whose record was read.
func (e *Executor) takeBack(ctx context.Context, s *sandbox) error {
	switch {
	case s.record.Spec.ID != s.id:
		return errors.New("its record is another's")
	case !s.record.Init.Alive():
		return errors.New("its init process has ended")
	case s.record.Installs:
		return errors.New("it installed packages for an executor that is gone")
	}
	if err := e.takeOver(ctx, s); err != nil {
		s.release()
		return err
	}
	e.ids.Keep(s.record.IDBase)
	return nil
}

// adoptTimeout bounds how long the init of a sandbox that is taken over may take for its
// answers, all together: the node begins after that. It is generous, since a sandbox that is given
// up is lost.
const adoptTimeout = time.Minute

// adoption is what is known of a sandbox while it is taken over.
type adoption struct {
	kernelTraces
	left time.Duration // that its init may yet take for answers
}

// ask asks the sandbox's init for something, as long as it has time left for that.
func (a *adoption) ask(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.left)
	defer cancel()
	began := time.Now()
	err := do(ctx)
	a.left -= time.Since(began)
	return err
}

func (e *Executor) takeOver(ctx context.Context, s *sandbox) error {
	a := &adoption{newKernelTraces(), e.adoptTimeout}
	if err := a.ask(ctx, s.init.Ping); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	if err := s.adoptPause(ctx); err != nil {
		return err
	}
	if err := e.adoptLayers(s); err != nil {
		return err
	}
	if err := e.adoptImage(s); err != nil {
		return err
	}
	if err := e.endZygotes(ctx, s); err != nil {
		return err
	}
	if err := e.adoptRuns(ctx, s, a); err != nil {
		return err
	}
	return e.keep(s)
}

// keep makes a sandbox that is ready one of this node's, and watches over it.
func (e *Executor) keep(s *sandbox) error {
	if err := s.openProcess(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down")
	}
	e.sandboxes[s.id] = s
	if s.slot != nil {
		s.slot.Fill(s)
	}
	if s.record.Warm {
		e.reserves.Put(s)
	}
	e.bells.Ring(s.slotID())
	e.wait.Go(func() { e.watchInit(s) })
	return nil
}

// removeRemains ends and removes what is left of a sandbox.
func (e *Executor) removeRemains(id string) error {
	if err := destroyGroup(e.cgroups.Open(id)); err != nil {
		return fmt.Errorf("removing sandbox %s: %w", id, err)
	}
	if err := errors.Join(removeStore(e.storeOf(id)), os.RemoveAll(filepath.Join(e.runDir, rundir.Sandboxes, id))); err != nil {
		return fmt.Errorf("removing sandbox %s: %w", id, err)
	}
	return nil
}

// removeStrayGroups ends what runs in cgroups of ours that no sandbox has.
func (e *Executor) removeStrayGroups(known []string) error {
	names, err := e.cgroups.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		if err := e.removeRemains(name); err != nil {
			return err
		}
	}
	return nil
}

// adoptRuns goes on with the executions of a sandbox.
func (e *Executor) adoptRuns(ctx context.Context, s *sandbox, a *adoption) error {
	entries, err := os.ReadDir(s.path(runsDir))
	if err != nil {
		return fmt.Errorf("looking for executions: %w", err)
	}
	for _, entry := range entries {
		err := e.adoptRun(ctx, s, entry.Name(), a)
		if errors.Is(err, records.ErrNewer) {
			return err
		}
		if err != nil {
			e.logger.Warn("execution not taken over", "sandbox", s.id, "execution", entry.Name(), "error", err)
			_ = runlog.Remove(s.logPlace(entry.Name())) // it goes with the sandbox
		}
	}
	e.adoptKernels(ctx, s, a)
	return nil
}

// runHistory is what the log of an execution says.
type runHistory struct {
	first, last runlog.Entry
	chunks      uint64 // of output
	trace       cellTrace
	installed   time.Time // when the packages that it waited for were there
}

func (h *runHistory) note(entry runlog.Entry) {
	switch entry.Kind {
	case runlog.Started:
		h.first = entry
	case runlog.Ended, runlog.Skipped:
	case runlog.Position:
		h.trace.position(entry.At, entry.Data)
	case runlog.Progress:
		if len(entry.Data) == 0 {
			h.installed = entry.At
		}
	default:
		h.chunks++
		h.trace.output()
	}
	h.last = entry
}

// adoptRun goes on with one execution where its log ends.
func (e *Executor) adoptRun(ctx context.Context, s *sandbox, id string, a *adoption) error {
	var history runHistory
	log, err := runlog.Open(s.logPlace(id), history.note)
	if err != nil {
		return err
	}
	var record runRecord
	switch err := json.Unmarshal(history.first.Data, &record); {
	case err == nil && record.Version > records.Version:
		return errors.Join(fmt.Errorf("%w (execution %s, record %d, this one knows %d)", records.ErrNewer, id, record.Version, records.Version), log.Close())
	case err != nil || record.ID != id:
		return errors.Join(errors.New("its log does not begin with its record"), err, log.Close())
	}
	r := newRun(s, record)
	r.log, r.startedAt, r.leaf = log, history.first.At, s.group.Find(id)
	a.note(history.trace.kernel, history.trace.seq)
	switch {
	case history.last.Kind == runlog.Ended:
		return s.adoptEnded(r, history.last)
	case record.Layer != "" && history.installed.IsZero():
		return s.endUninstalled(r)
	case record.Cell != nil:
		a.cells = append(a.cells, s.adoptCell(r, history.trace))
		return nil
	case record.Layer != "":
		r.record.Deadline = history.installed.Add(record.Timeout.Std())
	}
	return e.adoptProcess(ctx, r, history.chunks, a)
}

// adoptProcess goes on with an execution that is a process of its own, after so many
// chunks of its output.
func (e *Executor) adoptProcess(ctx context.Context, r *run, chunks uint64, a *adoption) error {
	s := r.sandbox
	if r.stream != nil {
		signal := func(ctx context.Context) error { return s.init.Signal(ctx, r.record.ID, 0) }
		if a.ask(ctx, signal) == nil { // it runs
			e.reclaimLeaf(r)
		}
		s.mu.Lock()
		s.runs[r.record.ID] = r
		s.executions.Add(1)
		s.mu.Unlock()
		e.adoptStream(r)
		return nil
	}
	var out *initd.Output
	err := a.ask(ctx, func(ctx context.Context) (err error) {
		out, err = e.attach(ctx, r, chunks)
		return err
	})
	if failure := new(initd.Failure); errors.As(err, &failure) && failure.Reason == initd.ReasonNotFound {
		// The executor was killed before it had the process started.
		r.clean()
		r.closeLogs()
		return errors.Join(err, r.log.Close())
	}
	e.reclaimLeaf(r)
	s.mu.Lock()
	s.runs[r.record.ID] = r
	s.executions.Add(1)
	s.mu.Unlock()
	if err != nil { // there is no more to be had, and what there is stays
		e.kill(r) // it may have gone on, and nobody would ever hear of it
		r.closeLogs()
		r.end(r.assemble(nil, err))
		return nil
	}
	e.startClock(r)
	e.goes(func() { e.follow(r, out) })
	return nil
}

// reclaimLeaf has the cgroup of a run that did begin, for all that is known, found by its name.
func (e *Executor) reclaimLeaf(r *run) {
	if err := r.sandbox.group.Reclaim(r.record.ID); err != nil {
		e.logger.Error("an execution was taken over without its cgroup", "execution", r.record.ID, "sandbox", r.sandbox.id, "error", err)
	}
}

// attach asks for the output of a run from where it is kept so far: chunks of it are in
// its log.
func (e *Executor) attach(ctx context.Context, r *run, chunks uint64) (*initd.Output, error) {
	after := chunks
	if err := r.openLogs(e.logger); err != nil {
		return nil, err
	}
	if r.logs != nil {
		r.controls, after = chunks, r.logs.After()
	}
	ctx, cancel := context.WithTimeout(ctx, e.adoptTimeout)
	defer cancel()
	out, err := r.sandbox.init.Attach(ctx, r.record.ID, after)
	if err != nil {
		return nil, err
	}
	r.out.Store(out)
	return out, nil
}

// adoptEnded takes over an execution that has its result.
func (s *sandbox) adoptEnded(r *run, last runlog.Entry) error {
	result, err := decodeResult(last.Data)
	if err != nil {
		return errors.Join(err, r.log.Close())
	}
	r.result = result
	close(r.done)
	s.mu.Lock()
	s.runs[r.record.ID] = r
	s.mu.Unlock()
	return nil
}
