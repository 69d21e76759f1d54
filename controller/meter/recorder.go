package meter

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/quota"
)

const (
	// Resolution is the time between two samples.
	Resolution = 5 * time.Minute
	// Retention is how long a sample is kept.
	Retention = 24 * time.Hour
	// MaxSessions is how many sessions have samples of their own in a round.
	MaxSessions = 2000

	pageSize   = 500             // sessions that are read at once
	asking     = 8               // sessions whose nodes are asked at once
	askLimit   = 5 * time.Second // for a node to answer
	writeBatch = 64              // samples in a transaction: other writes wait for it
	purgeBatch = 1000            // samples that are removed in one transaction
	storeLimit = 5 * time.Second // for one call of the store
)

// Sessions is the part of a controller that knows the use of sessions.
type Sessions interface {
	Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error)
	Session(ctx context.Context, id string) (yurt.Session, error)
	SessionStats(ctx context.Context, id string) (yurt.SandboxStats, error)
	Leads() bool
}

// Config is the configuration of a [Recorder]. Store and Sessions are needed.
type Config struct {
	Store      Store
	Sessions   Sessions
	Logger     *slog.Logger  // nil: logs nowhere
	Resolution time.Duration // 0 is [Resolution]
}

// Recorder records samples, and tells them. Its methods may be called concurrently.
type Recorder struct {
	store      Store
	sessions   Sessions
	log        *slog.Logger
	resolution time.Duration

	before map[string]counter // of the round before, by session; Run's alone
}

// counter is the processor time of a session at a time.
type counter struct {
	at      time.Time
	seconds float64
}

// New returns a recorder. [Recorder.Run] records.
func New(config Config) (*Recorder, error) {
	if config.Store == nil || config.Sessions == nil {
		return nil, errors.New("making a recorder of use: it needs a store and sessions")
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Recorder{
		store: config.Store, sessions: config.Sessions, log: config.Logger, resolution: cmp.Or(config.Resolution, Resolution),
		before: map[string]counter{},
	}, nil
}

// Run records samples while this controller leads, until ctx ends.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		next := time.Now().Truncate(r.resolution).Add(r.resolution)
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if !r.sessions.Leads() {
			clear(r.before) // another controller records, and this one may be the next
			continue
		}
		if err := r.record(ctx, next); err != nil && ctx.Err() == nil {
			r.log.Warn("a round of samples of use was not recorded whole", "error", err)
		}
	}
}

// round is the samples of one time, as they come in.
type round struct {
	at time.Time

	mu       sync.Mutex
	sessions []Sample
	tenants  map[string]*Sample
	counters map[string]counter
}

// record takes and stores the samples of a time, and removes those that are too old.
func (r *Recorder) record(ctx context.Context, at time.Time) error {
	taken := &round{at: at, tenants: map[string]*Sample{}, counters: map[string]counter{}}
	query := contract.SessionQuery{Live: true, Limit: pageSize}
	for {
		page, err := r.sessions.Sessions(ctx, query)
		if err != nil {
			return err
		}
		var group errgroup.Group
		group.SetLimit(asking)
		for _, session := range page {
			group.Go(func() error { r.take(ctx, taken, session); return nil })
		}
		_ = group.Wait() // a session that cannot be measured has no sample
		if len(page) < pageSize {
			break
		}
		last := page[len(page)-1]
		query.Before = contract.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	r.before = taken.counters
	return errors.Join(r.write(ctx, taken), r.purge(ctx, at.Add(-Retention)))
}

// take adds a session to the round.
func (r *Recorder) take(ctx context.Context, taken *round, session yurt.Session) {
	asked, cancel := context.WithTimeout(ctx, askLimit)
	stats, err := r.sessions.SessionStats(asked, session.ID)
	cancel()
	s := Sample{Tenant: session.Tenant, SessionID: session.ID, UsageSample: access.UsageSample{At: taken.at, Sessions: 1}}
	if err == nil {
		s.CPU = r.cores(ctx, session, counter{taken.at, stats.CPUSeconds})
		s.Memory, s.Disk, s.CPUSeconds = yurt.Size(stats.MemoryBytes), yurt.Size(stats.DiskBytes), stats.CPUSeconds
	}
	taken.mu.Lock()
	defer taken.mu.Unlock()
	if err == nil && len(taken.sessions) < MaxSessions {
		taken.sessions = append(taken.sessions, s)
		taken.counters[session.ID] = counter{taken.at, stats.CPUSeconds}
	}
	sum := taken.tenants[s.Tenant]
	if sum == nil {
		sum = &Sample{Tenant: s.Tenant, UsageSample: access.UsageSample{At: taken.at}}
		taken.tenants[s.Tenant] = sum
	}
	sum.Sessions++
	sum.CPU += s.CPU
	sum.Memory += s.Memory
	sum.Disk += s.Disk
}

// cores returns the mean of the cores that a session used since its last sample, which may be one of an earlier life of the server.
func (r *Recorder) cores(ctx context.Context, session yurt.Session, now counter) float64 {
	before, known := r.before[session.ID]
	if !known {
		before = counter{at: session.CreatedAt}
		if session.CreatedAt.Before(now.at.Add(-r.resolution)) {
			limited, cancel := context.WithTimeout(ctx, storeLimit)
			found, err := r.store.Samples(limited, session.Tenant, session.ID, time.Time{})
			cancel()
			if err == nil && len(found) > 0 {
				last := found[len(found)-1]
				before = counter{last.At, last.CPUSeconds}
			}
		}
	}
	elapsed := now.at.Sub(before.at).Seconds()
	if used := now.seconds - before.seconds; elapsed > 0 && used > 0 {
		return used / elapsed
	}
	return 0
}

// write stores the samples of a round, those of tenants first.
func (r *Recorder) write(ctx context.Context, taken *round) error {
	samples := make([]Sample, 0, len(taken.tenants)+len(taken.sessions))
	for _, tenant := range slices.Sorted(maps.Keys(taken.tenants)) {
		samples = append(samples, *taken.tenants[tenant])
	}
	for batch := range slices.Chunk(append(samples, taken.sessions...), writeBatch) {
		limited, cancel := context.WithTimeout(ctx, storeLimit)
		err := r.store.AddSamples(limited, batch)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// purge removes samples from before a time, in small steps.
func (r *Recorder) purge(ctx context.Context, before time.Time) error {
	for {
		limited, cancel := context.WithTimeout(ctx, storeLimit)
		removed, err := r.store.PurgeSamples(limited, before, purgeBatch)
		cancel()
		if err != nil || removed < purgeBatch {
			return err
		}
	}
}

// History returns the samples of the last 24 hours: of a session, or where sessionID is empty of the caller's tenant. An operator may
// name another tenant.
func (r *Recorder) History(ctx context.Context, tenant, sessionID string) (access.UsageHistory, error) {
	tenant, err := quota.Reachable(ctx, tenant)
	if err != nil {
		return access.UsageHistory{}, err
	}
	if sessionID != "" {
		session, err := r.sessions.Session(ctx, sessionID) // of another tenant it is not found
		if err != nil {
			return access.UsageHistory{}, err
		}
		tenant = session.Tenant
	}
	found, err := r.store.Samples(ctx, tenant, sessionID, time.Now().Add(-Retention))
	if err != nil {
		return access.UsageHistory{}, err
	}
	history := access.UsageHistory{Tenant: tenant, SessionID: sessionID, Resolution: yurt.Duration(r.resolution), Samples: make([]access.UsageSample, len(found))}
	for i, s := range found {
		history.Samples[i] = s.UsageSample
	}
	return history, nil
}
