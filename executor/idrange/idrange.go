// Package idrange hands out the user and group ids that sandboxes have on the host, a range for each, so that no two share an
// identity with each other or with an account of the host. The executor takes one for each sandbox that it makes and keeps those
// of the sandboxes that it adopts. The package keeps no state on disk and touches no file.
package idrange

import (
	"math/rand/v2"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/oci"
)

// User and group ids of sandboxes on the host: a range that no distribution assigns
// (systemd's UIDS-GIDS documents 1879048192 to 2147483647 as unused), one part of
// it for each sandbox, so that no two share an identity.
const (
	First = 1879048192 // of the first one
	End   = 1 << 31    // is after the last of the last one

	count = (End - First) / oci.IDRange
)

// Number returns which of the parts begins with the id; the first is 0.
func Number(base uint32) int { return int(base-First) / oci.IDRange }

// Ranges hands out the parts. Its methods may be called concurrently.
type Ranges struct {
	mu   sync.Mutex
	used map[uint32]bool // by first id
}

// New returns all of them free.
func New() *Ranges { return &Ranges{used: make(map[uint32]bool)} }

// Take returns the first id of a free range. It begins looking at a random one, so
// that executors on one machine, which do not know of each other, seldom meet.
func (r *Ranges) Take() (uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	start := rand.IntN(count) //nolint:gosec // chance, not secrecy
	for i := range count {
		base := uint32(First + (start+i)%count*oci.IDRange)
		if !r.used[base] {
			r.used[base] = true
			return base, nil
		}
	}
	return 0, yurt.Errorf(yurt.CodeOverloaded, "all %d ranges of user ids are in use; end some sandboxes", count)
}

// Keep marks a range as used, for a sandbox that has it already.
func (r *Ranges) Keep(base uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used[base] = true
}

// Free gives back the range of a sandbox that is wholly removed.
func (r *Ranges) Free(base uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.used, base)
}
