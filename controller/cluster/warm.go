package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/pool"
)

const (
	warmPrefix = "warm_"                // of the IDs of warm slots, which distinguishes them in lists
	warmOpens  = 8                      // slots that are opened at once
	warmPause  = 50 * time.Millisecond  // between a claim and the look that it leads to
	templates  = 500 * time.Millisecond // for which a list of templates is good
)

// SlotNode is the part of a [Client] that lists the slots of the node, and ends unclaimed ones.
type SlotNode interface {
	// WatchSlots calls each with the slot of that id, or maybe with others too, once there
	// is one, and again when something about it changes.
	WatchSlots(ctx context.Context, id string, each func([]yurt.Slot) error) error
	// RetireSlots ends up to so many unclaimed slots, and returns their ids.
	RetireSlots(ctx context.Context, digest string, most int) ([]string, error)
}

// warm is the cluster's warm slots as pools see them: those that nodes show, and those that the engine has granted and no node
// shows yet.
type warm struct {
	placer  *Placer
	changed chan struct{}
	leads   func() bool // nil until pools run

	mu      sync.Mutex
	seen    map[string]counted        // by node
	claims  map[string]claims         // by digest; since this controller was started
	opening map[string]opening        // slots whose Open is under way, by id
	fresh   map[string]freshSlot      // that have opened, and the view may not show
	unseen  map[string]int            // slots that the engine had and no node, by digest
	listed  bool                      // unseen was found out since this controller leads
	rooms   map[string]yurt.Resources // of the templates' slots, by digest
}

// counted is a node's counters when it was last looked at.
type counted struct {
	since     time.Time
	templates map[string]yurt.TemplateCapacity
}

type claims struct{ hits, misses int64 }

type opening struct {
	digest string
	cancel context.CancelCauseFunc
}

// errRetired ends the wait for a slot that was ended as one too many.
var errRetired = errors.New("the slot was not needed any more")

type freshSlot struct {
	digest string
	until  time.Time
}

func newWarm(p *Placer) *warm {
	return &warm{
		placer: p, changed: make(chan struct{}, 1), seen: map[string]counted{}, claims: map[string]claims{},
		opening: map[string]opening{}, fresh: map[string]freshSlot{}, unseen: map[string]int{}, rooms: map[string]yurt.Resources{},
	}
}

// Stock implements pool.Supply. It makes no request: a view that is not live shows the last picture.
func (w *warm) Stock(context.Context) (map[string]pool.Stock, error) {
	nodes := w.placer.view.Nodes()
	w.mu.Lock()
	defer w.mu.Unlock()
	stock := map[string]pool.Stock{}
	for _, node := range nodes {
		w.count(node)
		for digest, of := range node.Capacity.Templates {
			s, shared := stock[digest], max(0, of.Slots-of.Own)
			switch {
			case node.Draining: // its sandboxes will end soon
			case !node.Healthy: // it may come back with its sandboxes
				s.Other += shared
			default:
				s.Ready += min(of.Warm, shared)
				s.Busy += max(0, shared-of.Warm)
				s.Making += min(of.Making, max(0, shared-of.Warm))
			}
			stock[digest] = s
		}
	}
	for digest, n := range w.claims {
		s := stock[digest]
		s.Hits, s.Misses, s.Owed = n.hits, n.misses, n.misses
		stock[digest] = s
	}
	for _, slot := range w.opening { // the planner counts the sandboxes that are made in these
		s := stock[slot.digest]
		s.Making = max(0, s.Making-1)
		stock[slot.digest] = s
	}
	for digest, n := range w.unseen {
		s := stock[digest]
		s.Other += n
		stock[digest] = s
	}
	for id, slot := range w.fresh {
		if !time.Now().Before(slot.until) {
			delete(w.fresh, id)
			continue
		}
		s := stock[slot.digest]
		s.Other++
		stock[slot.digest] = s
	}
	return stock, nil
}

// count adds the node's counts since the last look at it. Counts from before this controller first saw the node are
// not new. The lock is held.
func (w *warm) count(node NodeState) {
	before, known := w.seen[node.Name]
	again := known && !before.since.Equal(node.Capacity.Since) // it was started again, and counts from 0
	for digest, of := range node.Capacity.Templates {
		was := before.templates[digest]
		if again || of.Claims < was.Claims || of.Cold < was.Cold {
			was = yurt.TemplateCapacity{}
		}
		if known {
			n := w.claims[digest]
			n.hits += of.Claims - was.Claims
			n.misses += of.Cold - was.Cold
			w.claims[digest] = n
		}
	}
	now := make(map[string]yurt.TemplateCapacity, len(node.Capacity.Templates))
	maps.Copy(now, node.Capacity.Templates)
	for digest, was := range before.templates { // a node names only the templates of late
		if _, named := now[digest]; !named && !again && w.rooms[digest] != (yurt.Resources{}) {
			now[digest] = was
		}
	}
	w.seen[node.Name] = counted{node.Capacity.Since, now}
}

// Open implements pool.Supply: it has the engine grant a slot, and waits until its sandbox
// is ready. One that is retired before that is seen was open, and is no failure.
func (w *warm) Open(ctx context.Context, template yurt.Template) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	digest := template.Digest()
	id := warmPrefix + yurt.NewSandboxID()
	w.mu.Lock()
	w.opening[id] = opening{digest, cancel}
	w.mu.Unlock()
	err := w.open(ctx, id, template)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.opening, id)
	if errors.Is(context.Cause(ctx), errRetired) {
		return nil
	}
	if err == nil {
		w.fresh[id] = freshSlot{digest, time.Now().Add(settleTime)}
	}
	return err
}

func (w *warm) open(ctx context.Context, id string, template yurt.Template) error {
	ctx, cancel := context.WithTimeout(ctx, awaitLimit)
	defer cancel()
	node, err := w.placer.engine.Start(ctx, Order{
		SlotID: id, Template: template, Resources: template.Resources.Or(yurt.DefaultResources()), Prefer: w.emptiest(template.Digest()),
		Avoid: draining(w.placer.view),
	})
	if err != nil {
		return err
	}
	_, err = w.placer.waitFor(ctx, id, node, func(ctx context.Context, node string) error { return w.awaitReady(ctx, node, id) })
	if err != nil {
		w.placer.stopSlot(id)
		return err
	}
	return nil
}

// emptiest names the nodes that have fewest slots of the template, so that these are spread.
func (w *warm) emptiest(digest string) []string {
	nodes := slices.DeleteFunc(slices.Clone(w.placer.view.Nodes()), func(n NodeState) bool { return !n.placeable() })
	slices.SortStableFunc(nodes, func(a, b NodeState) int {
		return a.Capacity.Templates[digest].Slots - b.Capacity.Templates[digest].Slots
	})
	names := make([]string, 0, preferredNodes)
	for _, n := range nodes[:min(len(nodes), preferredNodes)] {
		names = append(names, n.Name)
	}
	return names
}

// awaitReady returns once the slot's sandbox can be claimed, or was.
func (w *warm) awaitReady(ctx context.Context, node, id string) error {
	client, err := w.placer.awaitNode(ctx, node)
	if err != nil {
		return err
	}
	var last yurt.Slot
	err = retry(ctx, func() error {
		err := client.WatchSlots(ctx, id, func(list []yurt.Slot) error {
			i := slices.IndexFunc(list, func(s yurt.Slot) bool { return s.ID == id })
			if i < 0 || list[i].State == yurt.SlotMaking {
				return nil
			}
			last = list[i]
			return context.Canceled // it is known: the watch may end
		})
		if last.ID != "" {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("waiting for slot %s on node %s: %w", id, node, err)
	case last.State == yurt.SlotEnded:
		return yurt.Errorf(yurt.CodeSandboxFailed, "slot %s on node %s has ended: %s", id, node, last.Reason)
	default:
		return nil
	}
}

// Close implements pool.Supply. The nodes decide which slots are idle; those that have most
// are asked first.
func (w *warm) Close(ctx context.Context, digest string, slots int) error {
	nodes := slices.DeleteFunc(slices.Clone(w.placer.view.Nodes()), func(n NodeState) bool {
		return !n.Healthy || n.Capacity.Templates[digest].Warm == 0
	})
	slices.SortStableFunc(nodes, func(a, b NodeState) int {
		return b.Capacity.Templates[digest].Warm - a.Capacity.Templates[digest].Warm
	})
	for _, node := range nodes {
		if slots <= 0 {
			break
		}
		ended, err := w.retire(ctx, node.Name, digest, slots)
		if err != nil {
			return err
		}
		slots -= ended
	}
	return nil
}

// retire ends idle slots of one node, and has the engine take their room back.
func (w *warm) retire(ctx context.Context, node, digest string, most int) (int, error) {
	client, err := w.placer.clients.get(node)
	if err != nil {
		return 0, err
	}
	limited, cancel := context.WithTimeout(ctx, claimLimit)
	defer cancel()
	ids, err := client.RetireSlots(limited, digest, most)
	w.retired(ids)
	var stops sync.WaitGroup
	for _, id := range ids {
		stops.Go(func() {
			if err := w.placer.engine.Stop(ctx, id); err != nil { // the next listing finds it
				w.placer.log.Warn("removing a slot that has ended", "slot", id, "error", err)
			}
		})
	}
	stops.Wait()
	return len(ids), err
}

// retired stops waiting for slots that were ended, and does not count on them any more: a watcher of the node may
// never see a slot that was ready there for a moment.
func (w *warm) retired(ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if slot, under := w.opening[id]; under {
			slot.cancel(errRetired)
		}
		delete(w.fresh, id)
	}
}

// Changed implements pool.Supply.
func (w *warm) Changed() <-chan struct{} { return w.changed }

// know stores the room of the templates' slots, and forgets the counts of templates that are gone.
func (w *warm) know(list []yurt.Template) {
	rooms := make(map[string]yurt.Resources, len(list))
	for _, t := range list {
		rooms[t.Digest()] = t.Resources.Or(yurt.DefaultResources())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rooms = rooms
	maps.DeleteFunc(w.claims, func(digest string, _ claims) bool { _, there := rooms[digest]; return !there })
}
