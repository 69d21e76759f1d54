package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// DefaultLeaseTime is for how long a controller may be silent before another takes
	// over what it did.
	DefaultLeaseTime = 5 * time.Second
	beatsPerLease    = 5
	leaveLimit       = 3 * time.Second // for giving up what a controller holds
	leaderLease      = "leader"
	memberLease      = "controller/" // and the id of the controller
)

// members is what a controller knows of those that it shares its store with: who lives,
// and whether it leads. One that shares it with nobody always leads.
//
// A lease is over when its beat stood still for the lease time, by the monotonic clock of
// who watches. Who holds one stops to believe in it that long after it last asked for
// another beat, and so before anybody else can have it.
type members struct {
	store    LeaseStore // nil: it shares it with nobody
	id       string
	lifetime time.Duration
	log      *slog.Logger
	own      string       // name of the lease that says that it lives
	clock    *sharedClock // nil: its clock is its machine's
	changed  func()       // called when it begins to lead, or leads and others are gone

	beating sync.Mutex // held for a beat

	mu    sync.Mutex
	seen  map[string]sighting // by name of the lease
	until time.Time           // when it ceases to lead unless it beats
}

// sighting is a lease, and since when it is like that.
type sighting struct {
	lease Lease
	since time.Time
}

func newMembers(store Store, clock Clock, id string, lifetime time.Duration, log *slog.Logger, changed func()) *members {
	leases, _ := store.(LeaseStore)
	return &members{
		store: leases, id: id, lifetime: lifetime, log: log, changed: changed,
		seen: map[string]sighting{}, own: memberLease + id, clock: newSharedClock(store, clock),
	}
}

// leads reports whether this controller leads.
func (m *members) leads() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.store == nil || time.Now().Before(m.until)
}

// shared reports whether other controllers may use the same store, now or in a moment.
func (m *members) shared() bool { return m.store != nil }

// count returns how many controllers live, this one included.
func (m *members) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 1
	for name, s := range m.seen {
		if name != leaderLease && name != m.own && m.fresh(s) {
			n++
		}
	}
	return n
}

// lives reports whether the controller of that id did when the leases were last read.
func (m *members) lives(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[memberLease+id]
	return id == m.id || ok && m.fresh(s)
}

func (m *members) fresh(s sighting) bool { return time.Since(s.since) < m.lifetime }

// look reads the leases. Whoever has stored something before it is called is seen by it.
func (m *members) look(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	leases, err := m.store.Leases(ctx)
	if err != nil {
		return fmt.Errorf("listing the controllers: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := make(map[string]sighting, len(leases))
	for _, lease := range leases {
		s, known := m.seen[lease.Name]
		if !known || s.lease != lease {
			s = sighting{lease, time.Now()}
		}
		seen[lease.Name] = s
	}
	m.seen = seen
	return nil
}

// beat says that this controller lives, and leads if nobody else does.
func (m *members) beat(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	m.beating.Lock()
	defer m.beating.Unlock()
	before, led := m.others(), m.leads()
	if err := m.clock.sync(ctx, led); err != nil {
		return err
	}
	if err := m.look(ctx); err != nil {
		return err
	}
	if err := m.renew(ctx); err != nil {
		return err
	}
	if err := m.takeLead(ctx); err != nil || !m.leads() {
		return err
	}
	gone, err := m.dropDead(ctx)
	for id := range before {
		gone = gone || !m.lives(id)
	}
	if !led {
		m.log.Info("this controller leads", "controller", m.id)
	}
	if !led || gone {
		m.changed()
	}
	return err
}

// renew counts up the beat of this controller's own lease, or takes another when it was
// silent for so long that it was taken for dead.
func (m *members) renew(ctx context.Context) error {
	m.mu.Lock()
	own := m.seen[m.own].lease
	m.mu.Unlock()
	own.Name = m.own
	if _, _, err := m.store.TakeLease(ctx, own, m.id); err != nil {
		return fmt.Errorf("renewing the lease of this controller: %w", err)
	}
	return nil
}

// others returns the ids of the controllers that are known beside this one.
func (m *members) others() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := map[string]bool{}
	for name, s := range m.seen {
		if name != leaderLease && s.lease.Holder != m.id {
			ids[s.lease.Holder] = true
		}
	}
	return ids
}

// takeLead goes on leading, or begins to when nobody leads.
func (m *members) takeLead(ctx context.Context) error {
	m.mu.Lock()
	now, taken := m.seen[leaderLease]
	mayTake := !taken || now.lease.Holder == m.id || !m.fresh(now)
	m.mu.Unlock()
	if !mayTake {
		return nil
	}
	seen := now.lease
	seen.Name = leaderLease
	asked := time.Now()
	lead, ok, err := m.store.TakeLease(ctx, seen, m.id)
	if err != nil || !ok {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until = asked.Add(m.lifetime)
	m.seen[leaderLease] = sighting{lead, asked}
	return nil
}

// dropDead releases the leases of controllers that are silent. It is the leader's. It
// reports whether there were any.
func (m *members) dropDead(ctx context.Context) (bool, error) {
	m.mu.Lock()
	var dead []Lease
	for name, s := range m.seen {
		if name != leaderLease && name != m.own && !m.fresh(s) {
			dead = append(dead, s.lease)
		}
	}
	m.mu.Unlock()
	for _, lease := range dead {
		m.log.Warn("a controller is gone", "controller", lease.Holder)
		if err := m.store.ReleaseLease(ctx, lease.Name, lease.Holder); err != nil {
			return true, fmt.Errorf("releasing the lease of a controller that is gone: %w", err)
		}
	}
	return len(dead) > 0, nil
}

// run beats until ctx is done, and gives up then what it holds, so that nobody has to
// wait for it.
func (m *members) run(ctx context.Context) {
	if m.store == nil {
		return
	}
	for ctx.Err() == nil {
		sleep(ctx, m.lifetime/beatsPerLease)
		if err := m.beat(ctx); err != nil && ctx.Err() == nil {
			m.log.Error("telling the other controllers that this one lives", "error", err)
		}
	}
	m.mu.Lock()
	m.until = time.Time{}
	m.mu.Unlock()
	work, cancel := detached(ctx, leaveLimit)
	defer cancel()
	for _, name := range []string{leaderLease, m.own} {
		if err := m.store.ReleaseLease(work, name, m.id); err != nil {
			m.log.Error("leaving the other controllers", "error", err)
			return
		}
	}
}
