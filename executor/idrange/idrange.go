// Package idrange hands out the user and group ids that sandboxes have on the host, a range for each, so that no two share an
// identity with each other or with an account of the host. The executor takes one for each sandbox that it makes and keeps those
// of the sandboxes that it adopts. The package keeps no state on disk and touches no file.
package idrange

import (
	"math/rand/v2"
	"sync"

	"github.com/yurtrun/yurt"
)

// Size is how many user and group ids every sandbox has to itself.
const Size = 65536

// User and group ids of sandboxes on the host: a range that no distribution assigns
// (systemd's UIDS-GIDS documents 1879048192 to 2147483647 as unused), one part of
// it for each sandbox, so that no two share an identity. The last part is for helper programs of the node, such as language
// runtimes, an id for each. The very last id is that of executors, of all nodes of the host.
const (
	First    = 1879048192      // of the first one
	Programs = 1<<31 - Size    // of the first program; those of sandboxes end before it
	Executor = End - 1         // of executors; those of programs end before it
	End      = Programs + Size // is after the last one
)

// Number returns which of the parts begins with the id; the first is 0.
func Number(base uint32) int { return int(base-First) / Size }

// IsSandbox reports whether the id is the first of a part that a sandbox can have.
func IsSandbox(base uint32) bool {
	return base >= First && base < Programs && (base-First)%Size == 0
}

// IsProgram reports whether the id is one that a helper program can have.
func IsProgram(id uint32) bool { return id >= Programs && id < Executor }

// Ranges hands out parts of equal size of a range. Its methods may be called concurrently.
type Ranges struct {
	first, size, count int

	mu   sync.Mutex
	used map[uint32]bool // by first id
}

// New returns the parts of sandboxes, all of them free.
func New() *Ranges { return newRanges(First, Programs, Size) }

// NewPrograms returns the ids of helper programs, all of them free.
func NewPrograms() *Ranges { return newRanges(Programs, Executor, 1) }

func newRanges(first, end, size int) *Ranges {
	return &Ranges{first: first, size: size, count: (end - first) / size, used: make(map[uint32]bool)}
}

// Take returns the first id of a free range. It begins looking at a random one, so
// that executors on one machine, which do not know of each other, seldom meet.
func (r *Ranges) Take() (uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	start := rand.IntN(r.count) //nolint:gosec // chance, not secrecy
	for i := range r.count {
		base := uint32(r.first + (start+i)%r.count*r.size)
		if !r.used[base] {
			r.used[base] = true
			return base, nil
		}
	}
	return 0, yurt.Errorf(yurt.CodeOverloaded, "all %d ranges of user ids are in use; end some sandboxes", r.count)
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
