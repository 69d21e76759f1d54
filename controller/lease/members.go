package lease

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// DefaultTime is the lease time: for so long a controller may be silent before another one takes over.
	DefaultTime   = 5 * time.Second
	beatsPerLease = 5
	leaveLimit    = 3 * time.Second // for giving up the leases that a controller holds
	leaderLease   = "leader"
	memberLease   = "controller/" // and the id of the controller
)

// Lease is one name with its holder. The holder counts the beat up again and again.
type Lease struct {
	Name   string
	Holder string
	Beat   int64
}

// Store keeps the leases. Several controllers may use it at once.
type Store interface {
	// Leases lists every lease that has a holder, by name.
	Leases(ctx context.Context) ([]Lease, error)
	// TakeLease gives the lease to the holder, with the next beat, if it is still as it was seen: seen has its holder and
	// beat, or a beat of 0 for a lease without a holder. It reports false when the lease has changed.
	TakeLease(ctx context.Context, seen Lease, holder string) (taken Lease, ok bool, err error)
	// ReleaseLease gives up the lease if the holder has it.
	ReleaseLease(ctx context.Context, name, holder string) error
}

// Config describes a controller to the others.
type Config struct {
	Store Store         // nil: the controller shares its store with no other
	ID    string        // of this life of the controller
	Time  time.Duration // the lease time
	Log   *slog.Logger
	// Fit returns an error while the controller must not lead. It is called before each beat.
	Fit func(ctx context.Context) error
	// Changed is called when the controller begins to lead, and when it leads and another controller is gone.
	Changed func()
}

// Members is a controller's knowledge of the controllers that share its store.
type Members struct {
	Config
	own string // name of the lease that says that this controller lives

	beating sync.Mutex // held for a beat

	mu    sync.Mutex
	seen  map[string]sighting // by name of the lease
	until time.Time           // when it ceases to lead unless it beats
	unfit error               // why it must not lead
}

// sighting is a lease, and since when it is like that.
type sighting struct {
	lease Lease
	since time.Time
}

// New returns the members of a store. The first [Members.Beat] makes this controller known to the others.
func New(config Config) *Members {
	return &Members{Config: config, seen: map[string]sighting{}, own: memberLease + config.ID}
}

// Leads reports whether this controller leads.
func (m *Members) Leads() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Store == nil || time.Now().Before(m.until)
}

// Shared reports whether other controllers may use the same store, now or in a moment.
func (m *Members) Shared() bool { return m.Store != nil }

// Count returns how many controllers live, this one included.
func (m *Members) Count() int {
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

// Lives reports whether the controller of that id did when the leases were last read.
func (m *Members) Lives(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[memberLease+id]
	return id == m.ID || ok && m.fresh(s)
}

func (m *Members) fresh(s sighting) bool { return time.Since(s.since) < m.Time }

// Look reads the leases. A controller that stored a record before the call is seen by it.
func (m *Members) Look(ctx context.Context) error {
	if m.Store == nil {
		return nil
	}
	leases, err := m.Store.Leases(ctx)
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

// Beat tells the others that this controller lives, and takes the lead when it is free.
func (m *Members) Beat(ctx context.Context) error {
	if m.Store == nil {
		return nil
	}
	m.beating.Lock()
	defer m.beating.Unlock()
	before, led := m.others(), m.Leads()
	if err := m.checkFitness(ctx); err != nil {
		return err
	}
	if err := m.Look(ctx); err != nil {
		return err
	}
	if err := m.renew(ctx); err != nil {
		return err
	}
	if err := m.takeLead(ctx); err != nil || !m.Leads() {
		return err
	}
	gone, err := m.dropDead(ctx)
	for id := range before {
		gone = gone || !m.Lives(id)
	}
	if !led {
		m.Log.Info("this controller leads", "controller", m.ID)
	}
	if !led || gone {
		m.Changed()
	}
	return err
}

// Unfit returns the reason for which this controller must not lead, or nil.
func (m *Members) Unfit() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unfit
}

// checkFitness notes whether this controller may lead, and gives up the lead when it may not.
func (m *Members) checkFitness(ctx context.Context) error {
	unfit, led := m.Fit(ctx), m.Leads()
	m.mu.Lock()
	m.unfit = unfit
	if unfit != nil {
		m.until = time.Time{}
	}
	m.mu.Unlock()
	if unfit == nil || !led {
		return nil
	}
	m.Log.Error("this controller stops to lead", "controller", m.ID, "error", unfit)
	if err := m.Store.ReleaseLease(ctx, leaderLease, m.ID); err != nil {
		return fmt.Errorf("giving up the lead: %w", err)
	}
	return nil
}

// renew counts up the beat of this controller's own lease, or takes another when it was
// silent for so long that it was taken for dead.
func (m *Members) renew(ctx context.Context) error {
	m.mu.Lock()
	own := m.seen[m.own].lease
	m.mu.Unlock()
	own.Name = m.own
	if _, _, err := m.Store.TakeLease(ctx, own, m.ID); err != nil {
		return fmt.Errorf("renewing the lease of this controller: %w", err)
	}
	return nil
}

// others returns the ids of the controllers that are known beside this one.
func (m *Members) others() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := map[string]bool{}
	for name, s := range m.seen {
		if name != leaderLease && s.lease.Holder != m.ID {
			ids[s.lease.Holder] = true
		}
	}
	return ids
}

// takeLead goes on leading, or begins to when no member leads.
func (m *Members) takeLead(ctx context.Context) error {
	m.mu.Lock()
	now, taken := m.seen[leaderLease]
	mayTake := m.unfit == nil && (!taken || now.lease.Holder == m.ID || !m.fresh(now))
	m.mu.Unlock()
	if !mayTake {
		return nil
	}
	seen := now.lease
	seen.Name = leaderLease
	asked := time.Now()
	lead, ok, err := m.Store.TakeLease(ctx, seen, m.ID)
	if err != nil || !ok {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until = asked.Add(m.Time)
	m.seen[leaderLease] = sighting{lead, asked}
	return nil
}

// dropDead releases the leases of controllers that are silent. It is the leader's. It
// reports whether there were any.
func (m *Members) dropDead(ctx context.Context) (bool, error) {
	m.mu.Lock()
	var dead []Lease
	for name, s := range m.seen {
		if name != leaderLease && name != m.own && !m.fresh(s) {
			dead = append(dead, s.lease)
		}
	}
	m.mu.Unlock()
	for _, lease := range dead {
		m.Log.Warn("a controller is gone", "controller", lease.Holder)
		if err := m.Store.ReleaseLease(ctx, lease.Name, lease.Holder); err != nil {
			return true, fmt.Errorf("releasing the lease of a controller that is gone: %w", err)
		}
	}
	return len(dead) > 0, nil
}

// Run beats until ctx is done. It then gives up its leases, so that no other controller waits for them to end.
func (m *Members) Run(ctx context.Context) {
	if m.Store == nil {
		return
	}
	for ctx.Err() == nil {
		select {
		case <-time.After(m.Time / beatsPerLease):
		case <-ctx.Done():
		}
		if err := m.Beat(ctx); err != nil && ctx.Err() == nil {
			m.Log.Error("telling the other controllers that this one lives", "error", err)
		}
	}
	m.mu.Lock()
	m.until = time.Time{}
	m.mu.Unlock()
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	for _, name := range []string{leaderLease, m.own} {
		if err := m.Store.ReleaseLease(work, name, m.ID); err != nil {
			m.Log.Error("leaving the other controllers", "error", err)
			return
		}
	}
}
