package consul

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yurtrun/yurt/controller/cluster"
)

// Names in Consul that executors and controllers agree on.
const (
	service   = "yurt-executor"
	keyPrefix = "yurt/capacity/" // before the name of the node
	metaNode  = "node"           // of the service: the name of the node
)

// View is a cluster.View that follows Consul. It is safe for concurrent use.
type View struct {
	config Config
	client *api.Client
	logger *slog.Logger
	forget time.Duration
	wait   time.Duration
	now    func() time.Time

	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	keys    map[string]*key // by node
	failing map[string]bool // nodes whose check fails
	nodes   []cluster.NodeState
	changed chan struct{}
	halves  [halves]half
}

var _ cluster.View = (*View)(nil)

// half is one of the two things that are followed.
type half struct {
	live  bool
	since time.Time // that it is live, or is not
	err   error
}

const (
	ofKeys = iota
	ofChecks
	halves
)

// key is the last value of a node's key.
type key struct {
	index uint64 // at which it was written
	state cluster.NodeState
	valid bool
	gone  time.Time // since when it is not there; zero while it is
	// returning marks a node that a returning Consul lacked, which does not mean that the node is gone: it is shown as it was
	// until it has announced itself again or is forgotten.
	returning bool
}

// New returns a view that follows Consul until Close. It waits for no answer.
func New(ctx context.Context, config Config) (*View, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := config.client()
	if err != nil {
		return nil, err
	}
	v := &View{
		config: config, client: client, logger: config.Logger, forget: config.Forget, wait: config.wait, now: time.Now,
		keys: map[string]*key{}, failing: map[string]bool{}, changed: make(chan struct{}),
	}
	if v.forget <= 0 {
		v.forget = DefaultForget
	}
	if v.wait <= 0 {
		v.wait = defaultWait
	}
	for i := range v.halves {
		v.halves[i] = half{since: v.now(), err: errNotYet}
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	v.cancel = cancel
	v.done.Go(func() { v.follow(background, ofKeys, "the capacity of nodes", v.readKeys) })
	v.done.Go(func() { v.follow(background, ofChecks, "the checks of nodes", v.readChecks) })
	v.done.Go(func() { v.expire(background) })
	return v, nil
}

// Close ends the following, and waits for that. The picture stays as it is.
func (v *View) Close() {
	v.cancel()
	v.done.Wait()
}

// Nodes implements cluster.View.
func (v *View) Nodes() []cluster.NodeState {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.nodes
}

// Node implements cluster.View.
func (v *View) Node(name string) (cluster.NodeState, bool) {
	nodes := v.Nodes()
	i, found := slices.BinarySearchFunc(nodes, name, func(n cluster.NodeState, name string) int { return strings.Compare(n.Name, name) })
	if !found {
		return cluster.NodeState{}, false
	}
	return nodes[i], true
}

// Changed implements cluster.View.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

// Status implements cluster.View.
func (v *View) Status() (live bool, since time.Time, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	live = true
	for _, h := range v.halves {
		switch {
		case !h.live && (live || h.since.Before(since)): // not live since the first of them is not
			live, since, err = false, h.since, h.err
		case live && h.since.After(since): // live since all are
			since = h.since
		}
	}
	return live, since, err
}

// answered notes that Consul answered, or failed to.
func (v *View) answered(which int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := &v.halves[which]
	if live := err == nil; live != h.live {
		h.live, h.since = live, v.now()
	}
	h.err = err
}

// publish makes the picture from the entries. The lock is held.
func (v *View) publish() {
	nodes := make([]cluster.NodeState, 0, len(v.keys))
	for _, name := range slices.Sorted(maps.Keys(v.keys)) {
		k := v.keys[name]
		if !k.valid {
			continue
		}
		state := k.state
		state.Healthy = (k.gone.IsZero() || k.returning) && !v.failing[name]
		nodes = append(nodes, state)
	}
	if reflect.DeepEqual(nodes, v.nodes) {
		return
	}
	v.nodes = nodes
	close(v.changed)
	v.changed = make(chan struct{})
}

// setKeys takes over the nodes' keys, before it is noted that Consul answered.
func (v *View) setKeys(pairs api.KVPairs) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	there := make(map[string]bool, len(pairs))
	for _, pair := range pairs {
		name := strings.TrimPrefix(pair.Key, keyPrefix)
		if pair.Session == "" { // its writer no longer holds it
			continue
		}
		there[name] = true
		known := v.keys[name]
		if known != nil && known.index == pair.ModifyIndex && known.gone.IsZero() {
			continue
		}
		v.setKey(name, pair, now)
	}
	for name, k := range v.keys {
		if !there[name] && k.gone.IsZero() {
			k.gone, k.returning = now, !v.halves[ofKeys].live
		}
	}
	v.publish()
}

func (v *View) setKey(name string, pair *api.KVPair, now time.Time) {
	state, err := parse(name, pair.Value, now)
	if err != nil {
		v.logger.Warn("decoding a node's announcement", "key", pair.Key, "error", err)
	}
	v.keys[name] = &key{index: pair.ModifyIndex, state: state, valid: err == nil}
}

// setChecks takes over the results of Consul's checks of the nodes.
func (v *View) setChecks(entries []*api.ServiceEntry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failing = map[string]bool{}
	for _, entry := range entries {
		if entry.Service == nil || entry.Checks.AggregatedStatus() == api.HealthPassing || entry.Checks.AggregatedStatus() == api.HealthWarning {
			continue
		}
		v.failing[entry.Service.Meta[metaNode]] = true
	}
	v.publish()
}

// expire takes nodes out of the picture that are gone for long enough, while Consul says so.
func (v *View) expire(ctx context.Context) {
	tick := time.NewTicker(min(v.forget/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			v.expireNow()
		}
	}
}

func (v *View) expireNow() {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	live := v.halves[ofKeys]
	if !live.live {
		return
	}
	for name, k := range v.keys {
		// While Consul was away no node could have come back.
		since := k.gone
		if live.since.After(since) {
			since = live.since
		}
		if !k.gone.IsZero() && now.Sub(since) >= v.forget {
			delete(v.keys, name)
		}
	}
	v.publish()
}
