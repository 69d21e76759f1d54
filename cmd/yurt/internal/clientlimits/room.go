package clientlimits

import "sync"

// room bounds the bytes of bodies in memory: of all clients together, and of each client to half of that, so that no client keeps the
// others out.
type room struct {
	total int64

	mu   sync.Mutex
	held int64
	by   map[string]int64 // bytes by client, of those that hold some
}

func newRoom(total int64) *room { return &room{total: total, by: make(map[string]int64)} }

// take takes bytes for a client, or reports that there are not so many for it. The caller releases them once.
func (r *room) take(client string, size int64) (release func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held+size > r.total || r.by[client]+size > r.total/2 {
		return nil, false
	}
	r.held += size
	r.by[client] += size
	return func() { r.give(client, size) }, true
}

func (r *room) give(client string, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= size
	if r.by[client] -= size; r.by[client] == 0 {
		delete(r.by, client)
	}
}
