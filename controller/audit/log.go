package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/yurtrun/yurt"
)

const (
	queueLimit = 8192                   // entries that wait, those of requests under way included
	roomWait   = 250 * time.Millisecond // for room in the queue, before a change is refused
	writePause = 100 * time.Millisecond // between two writes, so that many entries share one
	writeBatch = 64                     // entries in a transaction: other writes wait for it
	writeLimit = 5 * time.Second        // for one write
	retryPause = time.Second            // after a write that failed
	readPause  = time.Second            // of a reader for entries that wait to be written
	drainLimit = 5 * time.Second        // for the last writes when the server stops

	// A refusal or an event has an entry of its own until there are too many: then one entry a second sums up those of a kind.
	singles, singlesBurst = 10, 100
	maxKinds              = 256 // of refusals that are summed up at once; those beyond are one kind

	purgePeriod = 10 * time.Minute
	purgeBatch  = 1000 // entries that are removed in one transaction
	// DefaultRetention is how long entries are kept unless the operator says otherwise.
	DefaultRetention = 90 * 24 * time.Hour
	// LeastRetention is the shortest time for which entries can be kept.
	LeastRetention = 24 * time.Hour
)

// Config is the configuration of a [Log]. Store is needed.
type Config struct {
	Store     Store
	File      string                // to which entries are added as lines of JSON; empty: the store alone has the log
	Syslog    string                // address of a syslog server to which entries are sent too, as local, unix:///path, udp://host:port or tcp://host:port; empty: none
	Retention time.Duration         // 0 is [DefaultRetention]
	Logger    *slog.Logger          // nil: logs nowhere
	Metrics   prometheus.Registerer // nil: no metrics
}

// Log is the audit log of a server. A nil log drops every entry. Its methods may be called concurrently.
type Log struct {
	store     Store
	sinks     []sink // beside the store
	retention time.Duration
	log       *slog.Logger
	entries   *prometheus.CounterVec

	room  chan struct{}      // a token for each entry that waits or that has room
	queue chan Entry         // as large as room, so that an entry with room never waits
	asked chan chan struct{} // each is closed once the entries before it are written

	single *rate.Limiter
	mu     sync.Mutex
	sums   map[kind]*Entry // of the current second
}

// kind tells refusals and events that are summed up.
type kind struct{ tenant, key, subject, action, address string }

// New returns a log. It opens the file and the connection to syslog. [Log.Run] writes, and closes both.
func New(config Config) (*Log, error) {
	if config.Store == nil {
		return nil, errors.New("making an audit log: it needs a store")
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Retention == 0 {
		config.Retention = DefaultRetention
	}
	entries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "yurt_audit_entries_total", Help: "Requests and events in the audit log, by decision.",
	}, []string{"decision"})
	if config.Metrics != nil {
		if err := config.Metrics.Register(entries); err != nil {
			return nil, err
		}
	}
	sinks, err := openSinks(config)
	if err != nil {
		return nil, err
	}
	return &Log{
		store: config.Store, sinks: sinks, retention: config.Retention, log: config.Logger, entries: entries,
		room: make(chan struct{}, queueLimit), queue: make(chan Entry, queueLimit), asked: make(chan chan struct{}),
		single: rate.NewLimiter(singles, singlesBurst), sums: map[kind]*Entry{},
	}, nil
}

// Pending is the room for the entry of a change that is about to begin.
type Pending struct {
	log  *Log
	once sync.Once
}

// Begin reserves room for the entry of a change. Without room it waits for a moment, and then fails: the change must not begin.
// The caller calls [Pending.End].
func (l *Log) Begin(ctx context.Context) (*Pending, error) {
	if l == nil {
		return nil, nil
	}
	select {
	case l.room <- struct{}{}:
		return &Pending{log: l}, nil
	default:
	}
	timer := time.NewTimer(roomWait)
	defer timer.Stop()
	select {
	case l.room <- struct{}{}:
		return &Pending{log: l}, nil
	case <-timer.C:
		err := yurt.Errorf(yurt.CodeUnavailable, "the audit log cannot be written, and no change is made without it; try again in a moment")
		err.RetryAfter = retryPause
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// End adds the entry. It does not wait. A second call does no more.
func (p *Pending) End(e Entry) {
	if p == nil {
		return
	}
	p.once.Do(func() { p.log.push(e) })
}

// push queues an entry that has room.
func (l *Log) push(e Entry) {
	l.entries.WithLabelValues(string(e.Decision)).Inc()
	l.queue <- completed(e, time.Now())
}

// Note adds the entry of a refusal or an event. It does not wait.
func (l *Log) Note(e Entry) {
	if l == nil {
		return
	}
	if l.single.Allow() {
		select {
		case l.room <- struct{}{}:
			l.push(e)
			return
		default:
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := kind{e.Tenant, e.KeyID, e.Subject, e.Action, e.Address}
	if l.sums[of] == nil && len(l.sums) >= maxKinds {
		of = kind{action: e.Action}
		e = Entry{Action: e.Action, Decision: e.Decision, Detail: "requests of many callers"}
	}
	if sum := l.sums[of]; sum != nil {
		sum.Count++
		return
	}
	e.At, e.Count = time.Now(), 1
	l.sums[of] = &e
}

// flushSums queues the sums for which there is room. The others go on to add up.
func (l *Log) flushSums() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, sum := range l.sums {
		select {
		case l.room <- struct{}{}:
			l.push(*sum)
			delete(l.sums, of)
		default:
			return
		}
	}
}
