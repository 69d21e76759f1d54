package yurt

import (
	"maps"
	"strings"
)

// SessionLabel is the label of a sandbox that names the session it is of.
const SessionLabel = "session"

// SlotSpec asks a node for a slot: room for one sandbox at a time of one template, in which the
// node keeps one ready to be claimed. The placer grants the room; the node makes the sandboxes.
type SlotSpec struct {
	ID        string    `json:"id"` // the caller's to choose, see [ValidSlotID]
	Template  Template  `json:"template"`
	Resources Resources `json:"resources"` // the room; complete: no zero field
	// For is the session that alone may claim it; "" lets any session of the template claim it.
	For string `json:"for,omitempty"`
	// Once ends the slot with the first sandbox that was claimed in it.
	Once   bool              `json:"once,omitempty"`
	Labels map[string]string `json:"labels,omitempty"` // of all its sandboxes, beside those of their owners
}

// Labels that a slot's sandboxes have in a cluster, where it is a task of Nomad's.
const (
	LabelNomadAlloc     = "nomad_alloc_id"
	LabelNomadJob       = "nomad_job_id"
	LabelNomadNamespace = "nomad_namespace"
)

// SlotState is where a slot is in its life.
type SlotState string

// The states of a slot.
const (
	SlotMaking  SlotState = "making"  // its sandbox is not there yet
	SlotReady   SlotState = "ready"   // its sandbox can be claimed
	SlotClaimed SlotState = "claimed" // its sandbox is somebody's
	SlotEnded   SlotState = "ended"   // there will be no further sandbox; Reason says why
)

// Slot is a node's description of one of its slots.
type Slot struct {
	ID        string            `json:"id"`
	Template  string            `json:"template"`
	Digest    string            `json:"digest"` // of the template
	For       string            `json:"for,omitempty"`
	Once      bool              `json:"once,omitempty"`
	State     SlotState         `json:"state"`
	SandboxID string            `json:"sandbox_id,omitempty"` // that it has now
	Reason    string            `json:"reason,omitempty"`     // that it ended for, or that it has no sandbox yet
	Failed    bool              `json:"failed,omitempty"`     // it ended as no sandbox could be made
	Labels    map[string]string `json:"labels,omitempty"`
}

// maxSlotID is how long the id of a slot may be, in bytes.
const maxSlotID = 64

// ValidSlotID reports whether id can name a slot: 1 to 64 lower-case letters, digits,
// dashes and underscores. Ids come from callers and name files.
func ValidSlotID(id string) bool {
	return id != "" && len(id) <= maxSlotID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// Validate refuses a specification that is out of bounds.
func (s SlotSpec) Validate() error {
	if !ValidSlotID(s.ID) {
		return FieldErrorf(CodeInvalidArgument, "id", "%q is not the id of a slot; give 1 to %d lower-case letters, digits, dashes and underscores", s.ID, maxSlotID)
	}
	if len(s.Labels) > MaxMetadata {
		return FieldErrorf(CodeLimitOutOfRange, "labels", "there are %d; give at most %d", len(s.Labels), MaxMetadata)
	}
	return s.Resources.Validate("resources")
}

// Claimable reports whether the owner of the specification may claim a sandbox that is kept for the
// session. A sandbox kept for "" is open to every owner.
func (s SandboxSpec) Claimable(session string) bool {
	return session == "" || s.Labels[SessionLabel] == session
}

// Fits reports whether a sandbox with these resources has room in r. Neither has a zero
// field.
func (r Resources) Fits(room Resources) bool {
	return r.CPU <= room.CPU && r.Memory <= room.Memory && r.Disk <= room.Disk && r.PIDs <= room.PIDs
}

// LabelsIn returns the labels of a sandbox that has those of its owner, and of its slot:
// where both name one, the slot's counts.
func LabelsIn(slot, owner map[string]string) map[string]string {
	if len(slot) == 0 {
		return owner
	}
	all := make(map[string]string, len(slot)+len(owner))
	maps.Copy(all, owner)
	maps.Copy(all, slot)
	return all
}
