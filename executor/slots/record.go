package slots

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

// endedKept is how long an ended slot is remembered if it is not closed.
const endedKept = time.Hour

// slotRecord is the record of a slot on the disk, from the moment it opens until it is closed. The record of a sandbox names its
// slot, not the other way round.
type slotRecord struct {
	Version int           `json:"version"`
	Spec    yurt.SlotSpec `json:"spec"`
	Ended   *time.Time    `json:"ended,omitempty"`
	Failed  bool          `json:"failed,omitempty"`
	Reason  string        `json:"reason,omitempty"` // that it ended
}

const slotSuffix = ".json"

func (l *Set[S]) path(id string) string { return filepath.Join(l.dir, id+slotSuffix) }

// write records the slot as it is. Its lock is held, or no other goroutine knows the slot yet.
func (l *Set[S]) write(sl *Slot[S]) error {
	record := slotRecord{Version: records.Version, Spec: sl.Spec}
	if ended := sl.ended; !ended.IsZero() {
		record.Ended, record.Failed, record.Reason = &ended, sl.failed, sl.reason
	}
	return records.Write(l.path(sl.Spec.ID), record)
}

// remove removes the record of the slot.
func (l *Set[S]) remove(id string) error {
	if err := os.Remove(l.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the record of slot %s: %w", id, err)
	}
	return nil
}

// forgetEnded drops slots that ended long ago and were not closed. The lock is held.
func (l *Set[S]) forgetEnded(now time.Time) {
	for id, sl := range l.byID {
		sl.mu.Lock()
		forget := !sl.ended.IsZero() && now.Sub(sl.ended) > endedKept
		sl.mu.Unlock()
		if forget && l.remove(id) == nil {
			delete(l.byID, id)
		}
	}
}

// Of returns the slot with the id that a sandbox names, nil for the empty id. It returns an error when the slot is closed or has
// ended: the sandbox must then end too.
func (l *Set[S]) Of(id string) (*Slot[S], error) {
	if id == "" {
		return nil, nil //nolint:nilnil // a sandbox without a slot is no error
	}
	var none S
	l.mu.Lock()
	defer l.mu.Unlock()
	sl := l.byID[id]
	switch {
	case sl == nil:
		return nil, fmt.Errorf("its slot %s was closed", id)
	case sl.IsOver():
		return nil, fmt.Errorf("its slot %s has ended", id)
	case sl.Current() != none:
		return nil, fmt.Errorf("its slot %s has another sandbox", id)
	}
	return sl, nil
}

// Load reads the slots that an earlier executor left. When one is a newer version's
// it fails, and leaves that as it is. It runs before anything else does.
func (l *Set[S]) Load() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("looking for slots: %w", err)
	}
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), slotSuffix)
		if !ok || !yurt.ValidSlotID(id) {
			continue // not ours, or half written
		}
		err := l.load(id)
		if errors.Is(err, records.ErrNewer) {
			return yurt.Errorf(yurt.CodeUnavailable, "slot %s in %s cannot be taken over: %w; it is left as it is, start that version again", id, l.dir, err)
		}
		if err != nil {
			l.logger.Warn("slot not taken over, closing it", "slot", id, "reason", err)
			if err := l.remove(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads one slot, or says why it cannot.
func (l *Set[S]) load(id string) error {
	if err := records.CheckVersion(l.path(id)); err != nil {
		return err
	}
	var record slotRecord
	if err := records.Read(l.path(id), &record); err != nil {
		return err
	}
	if record.Spec.ID != id {
		return errors.New("its record is another's")
	}
	sl := l.newSlot(record.Spec)
	if record.Ended != nil {
		sl.ended, sl.failed, sl.reason = *record.Ended, record.Failed, record.Reason
		close(sl.over)
	}
	l.byID[id] = sl
	return nil
}

// Start goes on with the slots that were read, when their sandboxes are known.
func (l *Set[S]) Start() error {
	l.mu.Lock()
	l.forgetEnded(time.Now())
	l.mu.Unlock()
	for _, sl := range l.List() {
		if err := l.node.Serve(func() { l.keep(sl) }); err != nil {
			return err
		}
	}
	return nil
}
