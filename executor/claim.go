package executor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/oci"
)

// A reserve is the sandboxes of one template that are ready and nobody's, oldest first.
// What is in one may have died or been destroyed since: who takes one out looks.
type reserve struct {
	template  string
	sandboxes []*sandbox
}

// ReserveSandbox makes a sandbox of the template that nobody owns yet, with the limits
// that the template gives. The next [Executor.ClaimSandbox] gets it, once.
func (e *Executor) ReserveSandbox(ctx context.Context, template yurt.Template) (yurt.Sandbox, error) {
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources.Or(yurt.DefaultResources())}
	return e.make(ctx, spec, true)
}

// ClaimSandbox hands out a sandbox of the reserve: with the environment, the labels and
// the limits of the spec, and an id of its own. found is false when there is none of
// that very template. A sandbox is handed out once, whatever becomes of this process
// or the claim: one that fails destroys it.
func (e *Executor) ClaimSandbox(ctx context.Context, spec yurt.SandboxSpec) (_ yurt.Sandbox, found bool, err error) {
	phases := newPhases()
	if err := admitResources(spec.Resources, spec.Template.Resources.DiskKind); err != nil {
		return yurt.Sandbox{}, false, err
	}
	if err := ctx.Err(); err != nil {
		return yurt.Sandbox{}, false, err
	}
	reserved := yurt.SandboxSpec{Template: spec.Template, Resources: spec.Template.Resources.Or(yurt.DefaultResources())}
	if !rebindable(reserved, spec) {
		return yurt.Sandbox{}, false, nil
	}
	s := e.takeReserved(spec.Template.Digest())
	if s == nil {
		return yurt.Sandbox{}, false, nil
	}
	phases.mark("take")
	if err := s.bind(spec, phases); err != nil {
		err = yurt.Errorf(yurt.CodeSandboxFailed, "claiming sandbox %s: %w", s.id, err)
		if gone := e.DestroySandbox(context.WithoutCancel(ctx), s.id); gone != nil {
			err = fmt.Errorf("%w; and destroying it: %w", err, gone)
		}
		return yurt.Sandbox{}, false, err
	}
	return s.view(e.config.Node), true, nil
}

// takeReserved takes the oldest sandbox of the template out of its reserve. It is the
// caller's alone from then on. nil means that there is none.
func (e *Executor) takeReserved(digest string) *sandbox {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		r := e.reserves[digest]
		if r == nil {
			return nil
		}
		s := r.sandboxes[0]
		if r.sandboxes = slices.Delete(r.sandboxes, 0, 1); len(r.sandboxes) == 0 {
			delete(e.reserves, digest)
		}
		if s.isWhole() {
			return s
		}
	}
}

// reserve puts a sandbox into the reserve of its template. The caller holds e.mu.
func (e *Executor) reserve(s *sandbox) {
	template := s.record.Spec.Template
	digest := template.Digest()
	if e.reserves[digest] == nil {
		e.reserves[digest] = &reserve{template: template.Name}
	}
	e.reserves[digest].sandboxes = append(e.reserves[digest].sandboxes, s)
}

// Reserves says what can be claimed.
func (e *Executor) Reserves(context.Context) ([]yurt.Reserve, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]yurt.Reserve, 0, len(e.reserves))
	for _, digest := range slices.Sorted(maps.Keys(e.reserves)) {
		r := e.reserves[digest]
		r.sandboxes = slices.DeleteFunc(r.sandboxes, func(s *sandbox) bool { return !s.isWhole() })
		if len(r.sandboxes) == 0 {
			delete(e.reserves, digest)
			continue
		}
		list = append(list, yurt.Reserve{Template: r.template, Digest: digest, Ready: len(r.sandboxes)})
	}
	return list, nil
}

// ReleaseReserve destroys one sandbox of the reserve of the template with the digest,
// if there is any.
func (e *Executor) ReleaseReserve(ctx context.Context, digest string) error {
	if s := e.takeReserved(digest); s != nil {
		return e.DestroySandbox(ctx, s.id)
	}
	return nil
}

// isWhole reports whether the sandbox lives and is not being destroyed.
func (s *sandbox) isWhole() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead == "" && !s.ending
}

// bind gives a sandbox of the reserve what its owner asks for. It is claimed on disk
// before anybody is told, so that no next executor hands it out again.
func (s *sandbox) bind(spec yurt.SandboxSpec, phases *phases) error {
	had := s.record.Spec.Resources
	if limits := limitsOf(spec); limits != limitsOf(s.record.Spec) {
		if err := s.group.Limit(limits); err != nil {
			return err
		}
	}
	phases.mark("limits")
	sizes := oci.Volumes(spec.Resources.Disk, spec.Resources.Memory)
	for path, now := range oci.Volumes(had.Disk, had.Memory) {
		if sizes[path] == now {
			continue
		}
		if err := s.resize(path, sizes[path]); err != nil {
			return fmt.Errorf("resizing %s: %w", path, err)
		}
	}
	phases.mark("disk")
	record := s.record
	record.Spec, record.Warm = spec, false
	record.Spec.ID = s.id
	record.Phases = phases.done()
	if err := writeRecord(s.path(recordFile), record); err != nil {
		return err
	}
	phases.mark("record")
	record.Phases = phases.done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = record
	return nil
}

// resize gives a file system in memory of the sandbox other bounds. Nothing has run in
// the sandbox yet that could have put a link in its place.
func (s *sandbox) resize(path string, to oci.Sizes) error {
	fs, err := unix.Fspick(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/root%s", s.record.Init.PID, path), unix.FSPICK_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetString(fs, "size", strconv.FormatInt(int64(to.Bytes), 10)); err != nil {
		return err
	}
	if err := unix.FsconfigSetString(fs, "nr_inodes", strconv.FormatInt(to.Inodes, 10)); err != nil {
		return err
	}
	return unix.FsconfigReconfigure(fs)
}
