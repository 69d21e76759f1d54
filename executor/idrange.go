package executor

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
	firstID   = 1879048192
	maxRanges = (1<<31 - firstID) / oci.IDRange
)

// idRanges hands out the parts. Its methods may be called concurrently.
type idRanges struct {
	mu   sync.Mutex
	used map[uint32]bool // by first id
}

func newIDRanges() *idRanges { return &idRanges{used: make(map[uint32]bool)} }

// take returns the first id of a free range. It begins looking at a random one, so
// that executors on one machine, which do not know of each other, seldom meet.
func (r *idRanges) take() (uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	start := rand.IntN(maxRanges) //nolint:gosec // chance, not secrecy
	for i := range maxRanges {
		base := uint32(firstID + (start+i)%maxRanges*oci.IDRange)
		if !r.used[base] {
			r.used[base] = true
			return base, nil
		}
	}
	return 0, yurt.Errorf(yurt.CodeOverloaded, "all %d ranges of user ids are in use; end some sandboxes", maxRanges)
}

// keep marks a range as used, for a sandbox that has it already.
func (r *idRanges) keep(base uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used[base] = true
}

func (r *idRanges) free(base uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.used, base)
}
