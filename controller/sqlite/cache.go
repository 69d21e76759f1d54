package sqlite

import (
	"database/sql"
	"maps"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	cacheSessions = 1024     // sessions that are kept in memory at most
	cacheBytes    = 16 << 10 // of environment and metadata, above which one is not kept
)

// kept is a session as it was last committed.
type kept struct {
	session yurt.Session
	running int             // executions without a result
	due     sql.Null[int64] // the value of the column expires_at, see [kept.step]
}

// cache keeps the live sessions that were written last, so that a step of a session's life needs no read. The cache is
// right because this process alone writes the file, and because only the writer changes the cache. A transaction takes
// the session that it changes out of the cache until it is committed: meanwhile readers look in the file, so that a
// reader that has seen a part of the change there sees the session after it.
type cache struct {
	mu       sync.RWMutex
	sessions map[string]kept
}

func newCache() *cache { return &cache{sessions: map[string]kept{}} }

// get returns a copy of a cached session, which its caller may change.
func (c *cache) get(id string) (kept, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found, ok := c.sessions[id]
	found.session = clone(found.session)
	return found, ok
}

// take returns a cached session, and keeps it no longer.
func (c *cache) take(id string) (kept, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.sessions[id]
	delete(c.sessions, id)
	found.session = clone(found.session)
	return found, ok
}

// put keeps a session that was committed. One that has ended is read seldom.
func (c *cache) put(k kept) {
	s := k.session
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.State.Ended() || size(s.Env)+size(s.Metadata) > cacheBytes {
		delete(c.sessions, s.ID)
		return
	}
	if _, there := c.sessions[s.ID]; !there && len(c.sessions) >= cacheSessions {
		for other := range c.sessions { // any: maps begin somewhere else each time
			delete(c.sessions, other)
			break
		}
	}
	k.session = stored(s)
	c.sessions[s.ID] = k
}

// drop forgets a session of which it is not known how it is stored.
func (c *cache) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
}

// clone returns a copy that shares no mutable data with s.
func clone(s yurt.Session) yurt.Session {
	s.Metadata, s.Env, s.Placement.Phases = maps.Clone(s.Metadata), maps.Clone(s.Env), maps.Clone(s.Placement.Phases)
	s.EndsBy, s.EndedAt = cloneTime(s.EndsBy), cloneTime(s.EndedAt)
	return s
}

// stored returns a session as it would come out of the file.
func stored(s yurt.Session) yurt.Session {
	s = clone(s)
	s.CreatedAt, s.UpdatedAt, s.ActiveAt = plain(s.CreatedAt), plain(s.UpdatedAt), plain(s.ActiveAt)
	s.Metadata, s.Env, s.Placement.Phases = orNil(s.Metadata), orNil(s.Env), orNil(s.Placement.Phases)
	return s
}

func cloneTime(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	same := plain(*at)
	return &same
}

// plain returns a time in UTC and without a monotonic reading, which the file does not keep.
func plain(at time.Time) time.Time { return at.UTC().Round(0) }

func orNil[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return m
}

func size(m map[string]string) (n int) {
	for key, value := range m {
		n += len(key) + len(value)
	}
	return n
}
