package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// maxGiveWay is how many idle slots are ended for one session at the most.
	maxGiveWay = 16
	// After room was made the engine is asked again: it may hear of that a moment later.
	roomTries = 2
	roomPause = 200 * time.Millisecond
)

// start has the engine start a slot for a session. If there is no room, idle warm slots give way, and it asks again. The
// engine's count of a node can differ from the node's, and another session may take the room: as long as the engine refuses,
// twice as many slots give way as before.
func (p *Placer) start(ctx context.Context, order Order) (node string, err error) {
	order.Avoid = slices.Concat(order.Avoid, draining(p.view))
	node, err = p.engine.Start(ctx, order)
	left := maxGiveWay
	for least := 1; left > 0 && yurt.CodeOf(err) == yurt.CodeOverloaded; least *= 2 {
		ended := p.warm.giveWay(ctx, order.Resources, min(least, left), left)
		if left -= ended; ended == 0 {
			return node, err
		}
		for try := 0; try < roomTries && yurt.CodeOf(err) == yurt.CodeOverloaded; try++ {
			if try > 0 && !pause(ctx, roomPause) {
				return "", err
			}
			node, err = p.engine.Start(ctx, order)
		}
	}
	return node, err
}

// pause waits, and reports whether ctx lasted.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// draining names the nodes that drain without the engine's knowing it of them.
func draining(view View) []string {
	var names []string
	for _, node := range view.Nodes() {
		if node.Draining && !node.ByEngine {
			names = append(names, node.Name)
		}
	}
	return names
}

// victim is idle slots of one template that may give way.
type victim struct {
	digest string
	idle   int
	room   yurt.Resources
}

// giveWay ends idle warm slots, least as far as there are and most at the most, on the node
// where the fewest have to go for a sandbox of that size. It returns how many it ended.
func (w *warm) giveWay(ctx context.Context, want yurt.Resources, least, most int) int {
	node, plan := w.cheapest(want, least, most)
	ended := 0
	for _, v := range plan {
		n, err := w.retire(ctx, node, v.digest, v.idle)
		if err != nil {
			w.placer.log.Warn("making room for a session", "node", node, "error", err)
		}
		if n > 0 {
			w.placer.pools.GaveWay(v.digest)
		}
		ended += n
	}
	if ended > 0 {
		w.placer.log.Info("idle warm slots gave way to a session", "node", node, "slots", ended)
	}
	return ended
}

// cheapest returns the node on which the fewest idle slots make room, and which these are.
func (w *warm) cheapest(want yurt.Resources, least, most int) (node string, plan []victim) {
	fewest := most + 1
	for _, n := range w.placer.view.Nodes() {
		if !n.placeable() {
			continue
		}
		if p, count := fit(n.Free, want, w.victims(n), least); p != nil && count < fewest {
			node, plan, fewest = n.Name, p, count
		}
	}
	return node, plan
}

// victims lists the idle slots of a node, those of the templates that have most first.
func (w *warm) victims(node NodeState) []victim {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []victim
	for digest, of := range node.Capacity.Templates {
		if room, known := w.rooms[digest]; known && of.Warm > 0 && of.Slots > 0 {
			list = append(list, victim{digest, min(of.Warm, of.Slots), room})
		}
	}
	slices.SortFunc(list, func(a, b victim) int {
		return cmp.Or(cmp.Compare(b.idle, a.idle), cmp.Compare(a.digest, b.digest))
	})
	return list
}

// fit returns how many of each have to give way, nil if that is not enough. The engine has
// refused although the node may seem to have the room: so many have to go at least, or all
// that there are.
func fit(free, want yurt.Resources, victims []victim, least int) (plan []victim, count int) {
	enough := func() bool { return free.CPU >= want.CPU && free.Memory >= want.Memory }
	for _, v := range victims {
		taken := 0
		for taken < v.idle && (count < least || !enough()) {
			free.CPU += v.room.CPU
			free.Memory += v.room.Memory
			taken++
			count++
		}
		if taken > 0 {
			plan = append(plan, victim{v.digest, taken, v.room})
		}
	}
	if count == 0 || !enough() {
		return nil, 0
	}
	return plan, count
}
