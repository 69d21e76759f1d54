package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/statedir"
)

// adoptAll adopts the sandboxes that an earlier executor left, and removes those that are half made or dead. If a record is a newer
// version's, it fails and touches no sandbox. It returns when all are adopted but those whose init is slow to answer, with which it goes
// on in the background. When ctx ends it fails too, and has removed no sandbox that lives.
func (a *adopter) adoptAll(ctx context.Context) error {
	ids, err := a.leftSandboxes()
	if err != nil {
		return err
	}
	if err := a.checkVersions(ids); err != nil {
		return err
	}
	var known []string
	var found []*Handle
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("taking over sandboxes: %w", err)
		}
		s, err := a.recognize(id)
		if err != nil {
			a.node.logger.Warn("sandbox not taken over, removing it", "sandbox", id, "reason", err)
			if err := a.removeRemains(id); err != nil {
				return err
			}
			continue
		}
		known, found = append(known, id), append(found, s)
		a.node.table.goes(func() { a.adopt(s) })
	}
	if err := a.removeStrayGroups(known); err != nil {
		return err
	}
	return a.awaitAdoptions(ctx, found)
}

// leftSandboxes returns the ids of all sandboxes that there is something of: after a reboot
// it may be on disk alone.
func (a *adopter) leftSandboxes() ([]string, error) {
	var ids []string
	for _, dir := range []string{
		filepath.Join(a.node.config.RunDir, rundir.Sandboxes), filepath.Join(a.node.config.StateDir, rundir.Sandboxes), filepath.Join(a.node.config.StateDir, statedir.Disks),
	} {
		entries, err := os.ReadDir(dir)
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

// checkVersions fails if one of the sandboxes, or an execution in one, is a newer version's. Unreadable records are
// judged later.
func (a *adopter) checkVersions(ids []string) error {
	for _, id := range ids {
		err := records.CheckVersion(filepath.Join(a.node.config.Dirs.RecordDir(id), statedir.Record))
		if !errors.Is(err, records.ErrNewer) {
			err = a.checkRunVersions(id)
		}
		if err != nil {
			return yurt.Errorf(yurt.CodeUnavailable, "sandbox %s in %s cannot be taken over: %w; it is left as it is, start that version again", id, a.node.config.StateDir, err)
		}
	}
	return nil
}

func (a *adopter) checkRunVersions(id string) error {
	dir := filepath.Join(a.node.config.Dirs.RecordDir(id), sandbox.RunsDir)
	entries, _ := os.ReadDir(dir) // of one that is half made there may be none
	for _, entry := range entries {
		first, err := runlog.First(filepath.Join(dir, entry.Name()))
		if err != nil {
			continue
		}
		if err := records.CheckVersionOf(first.Data); errors.Is(err, records.ErrNewer) {
			return fmt.Errorf("execution %s: %w", entry.Name(), err)
		}
	}
	return nil
}

// recognize makes a sandbox whose init lives one of this node's again, or returns the reason why it cannot.
func (a *adopter) recognize(id string) (*Handle, error) {
	var record sandbox.Record
	if err := records.Read(filepath.Join(a.node.config.Dirs.RecordDir(id), statedir.Record), &record); err != nil {
		return nil, err
	}
	if record.Spec.ID != id {
		return nil, errors.New("its record is another's")
	}
	in, err := a.node.slots.Of(record.Slot)
	if err != nil {
		return nil, err
	}
	s := a.node.newHandle(record, in)
	s.adoption = a.newAdoption()
	if err := a.keepAgain(s); err != nil {
		s.adoption.cancel()
		a.node.relinquish(s)
		if in != nil && in.Spec.Once && !record.Warm {
			a.node.slots.End(in, "its sandbox was lost: "+err.Error(), false)
		}
		return nil, err
	}
	return s, nil
}

// keepAgain enters a sandbox, whose record was read, and keeps its layers, its image and its range of ids.
func (a *adopter) keepAgain(s *Handle) (err error) {
	switch {
	case !s.Record.Init.Alive():
		return errors.New("its init process has ended")
	case s.Record.Installs:
		return errors.New("it installed packages for an executor that is gone")
	}
	if s.Gauge, err = a.node.broker.Gauge(s.ID()); err != nil {
		return err
	}
	if err := s.AdoptLayers(a.node.layers); err != nil {
		return err
	}
	if err := a.node.roots.adoptImage(s); err != nil {
		return err
	}
	if err := a.node.keep(s); err != nil {
		return err
	}
	a.node.ids.Keep(s.Record.IDBase)
	return nil
}

// removeRemains ends the processes of a sandbox that has no handle, and removes its files.
func (a *adopter) removeRemains(id string) error {
	if err := sandbox.End(a.node.broker, id); err != nil {
		return fmt.Errorf("removing sandbox %s: %w", id, err)
	}
	if err := errors.Join(a.node.broker.RemoveDisk(id), os.RemoveAll(filepath.Join(a.node.config.RunDir, rundir.Sandboxes, id))); err != nil {
		return fmt.Errorf("removing sandbox %s: %w", id, err)
	}
	return nil
}

// removeStrayGroups ends the processes in cgroups of this node that belong to no sandbox.
func (a *adopter) removeStrayGroups(known []string) error {
	names, err := a.node.cgroups.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		if err := a.removeRemains(name); err != nil {
			return err
		}
	}
	return nil
}
