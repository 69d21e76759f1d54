package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/records"
)

// endedKept is how long a slot that has ended is known if nobody closes it.
const endedKept = time.Hour

// slotRecord is what is kept of a slot on disk, from the moment it is open to the one it
// is closed. What sandbox it has, the sandbox's record says.
type slotRecord struct {
	Version int           `json:"version"`
	Spec    yurt.SlotSpec `json:"spec"`
	Ended   *time.Time    `json:"ended,omitempty"`
	Failed  bool          `json:"failed,omitempty"`
	Reason  string        `json:"reason,omitempty"` // that it ended
}

const slotSuffix = ".json"

func (l *slots) path(id string) string { return filepath.Join(l.dir, id+slotSuffix) }

// write records the slot as it is.
func (l *slots) write(sl *slot) error {
	record := slotRecord{Version: records.Version, Spec: sl.spec}
	sl.mu.Lock()
	if ended := sl.ended; !ended.IsZero() {
		record.Ended, record.Failed, record.Reason = &ended, sl.failed, sl.reason
	}
	sl.mu.Unlock()
	return records.Write(l.path(sl.spec.ID), record)
}

// remove removes the record of the slot.
func (l *slots) remove(id string) error {
	if err := os.Remove(l.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the record of slot %s: %w", id, err)
	}
	return nil
}

// forgetEnded drops what ended long ago and nobody closed. The lock is held.
func (l *slots) forgetEnded(now time.Time) {
	for id, sl := range l.byID {
		sl.mu.Lock()
		forget := !sl.ended.IsZero() && now.Sub(sl.ended) > endedKept
		sl.mu.Unlock()
		if forget && l.remove(id) == nil {
			delete(l.byID, id)
		}
	}
}

// of returns the slot that a sandbox is in, nil for none. That the slot is closed, or has
// ended, is an error: so has the sandbox.
func (l *slots) of(record sandboxRecord) (*slot, error) {
	if record.Slot == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	sl := l.byID[record.Slot]
	switch {
	case sl == nil:
		return nil, fmt.Errorf("its slot %s was closed", record.Slot)
	case sl.isOver():
		return nil, fmt.Errorf("its slot %s has ended", record.Slot)
	case sl.current() != nil:
		return nil, fmt.Errorf("its slot %s has another sandbox", record.Slot)
	}
	return sl, nil
}

// loadSlots reads the slots that an earlier executor left. When one is a newer version's
// it fails, and leaves that as it is. It runs before anything else does.
func (e *Executor) loadSlots() error {
	entries, err := os.ReadDir(e.slots.dir)
	if err != nil {
		return fmt.Errorf("looking for slots: %w", err)
	}
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), slotSuffix)
		if !ok || !yurt.ValidSlotID(id) {
			continue // not ours, or half written
		}
		err := e.loadSlot(id)
		if errors.Is(err, records.ErrNewer) {
			return yurt.Errorf(yurt.CodeUnavailable, "slot %s in %s cannot be taken over: %w; it is left as it is, start that version again", id, e.config.StateDir, err)
		}
		if err != nil {
			e.logger.Warn("slot not taken over, closing it", "slot", id, "reason", err)
			if err := e.slots.remove(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadSlot reads one slot, or says why it cannot.
func (e *Executor) loadSlot(id string) error {
	if err := records.CheckVersion(e.slots.path(id)); err != nil {
		return err
	}
	var record slotRecord
	if err := records.Read(e.slots.path(id), &record); err != nil {
		return err
	}
	if record.Spec.ID != id {
		return errors.New("its record is another's")
	}
	sl := e.newSlot(record.Spec)
	if record.Ended != nil {
		sl.ended, sl.failed, sl.reason = *record.Ended, record.Failed, record.Reason
		close(sl.over)
	}
	e.slots.byID[id] = sl
	return nil
}

// startSlots goes on with the slots that were read, when their sandboxes are known.
func (e *Executor) startSlots() error {
	e.slots.mu.Lock()
	e.slots.forgetEnded(time.Now())
	e.slots.mu.Unlock()
	for _, sl := range e.slots.list() {
		if err := e.serve(func() { e.keepSlot(sl) }); err != nil {
			return err
		}
	}
	return nil
}
