package audit

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/yurtrun/yurt/access"
)

// Entry is one line of the log.
type Entry = access.Entry

// The decisions of entries.
const (
	Allowed = access.Allowed
	Denied  = access.Denied
	Failed  = access.Failed
	Event   = access.Event
)

// The actions of entries that are about no operation of the API.
const (
	ActionAuthenticate = "authenticate"  // a request with a key that is not valid, or from a page of another origin
	ActionRateLimit    = "rate-limit"    // a request beyond the rate of its key or address
	ActionOutOfMemory  = "out-of-memory" // the kernel killed a program that used more memory than its sandbox has
	ActionSeccomp      = "seccomp-kill"  // the kernel killed a program for a system call that the seccomp profile forbids
)

// The greatest sizes of texts in an entry, in bytes. Longer ones are cut.
const (
	maxTarget = 256
	maxDetail = 256
)

// NewEntryID returns a fresh id of an entry.
func NewEntryID() string { return access.EntryIDPrefix + strings.ToLower(rand.Text()) }

// completed returns an entry with the fields that every entry has.
func completed(e Entry, now time.Time) Entry {
	e.ID = NewEntryID()
	if e.At.IsZero() {
		e.At = now
	}
	e.At = e.At.UTC().Round(0)
	e.Target, e.Detail = cut(e.Target, maxTarget), cut(e.Detail, maxDetail)
	e.Count = max(e.Count, 1)
	return e
}

// cut returns the beginning of a text that has at most so many bytes, as whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
