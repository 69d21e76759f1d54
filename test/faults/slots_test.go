package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

// slotKills is at how many moments the executor is killed while it has slots.
const slotKills = 12

// TestKilledWithSlots kills the executor over and over while sandboxes in its slots are claimed,
// used and destroyed. No sandbox is handed out twice, slots are filled again, those that are for
// once are so, and in the end no sandbox is left without an owner.
func TestKilledWithSlots(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	d := newDaemon(t)
	l := newLoad(t, d)
	rooms := []string{"room-1", "room-2", "room-3"}
	for _, id := range rooms {
		if _, err := d.OpenSlot(t.Context(), slotOf(id)); err != nil {
			t.Fatal(err)
		}
	}
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	var callers sync.WaitGroup
	callers.Go(func() { l.claims(stop, "one") })
	callers.Go(func() { l.claims(stop, "two") })
	callers.Go(func() { l.onces(stop) })
	for range slotKills {
		time.Sleep(time.Duration(random.IntN(250)) * time.Millisecond)
		signal := syscall.SIGKILL
		if random.IntN(5) == 0 {
			signal = syscall.SIGTERM
		}
		d.stop(signal)
		d.start()
	}
	cancel()
	callers.Wait()
	t.Logf("it came to %v", l.done)
	for _, what := range []string{"claims", "onces"} {
		if l.done[what] == 0 {
			t.Errorf("there was no load: no %s", what)
		}
	}
	slots, err := d.Slots(t.Context())
	if err != nil || len(slots) != len(rooms) {
		t.Errorf("there are %+v, %v", slots, err)
	}
	for i := range rooms { // each has one more, which is no earlier one
		label := "last-" + strconv.Itoa(i)
		spec := claimOf(label)
		s, err := d.AwaitSandbox(t.Context(), spec, rooms[i])
		if err != nil || l.tried[s.ID] {
			t.Errorf("the last claim %d got %+v, %v; handed out before: %t", i, s, err, l.tried[s.ID])
		}
		l.tried[s.ID] = true
	}
	d.destroyAll()
	l.checkQuiet()
	if list := l.list(); len(list) != 0 {
		t.Errorf("in the end there are %+v", list)
	}
}

func slotOf(id string, changes ...func(*yurt.SlotSpec)) yurt.SlotSpec {
	spec := claimOf("")
	slot := yurt.SlotSpec{ID: id, Template: spec.Template, Resources: spec.Resources}
	for _, change := range changes {
		change(&slot)
	}
	return slot
}

// onces has slots that are one session's and end with it.
func (l *load) onces(stop context.Context) {
	for i := 0; stop.Err() == nil; i++ {
		id := fmt.Sprintf("once-%d", i)
		spec := slotOf(id, func(s *yurt.SlotSpec) { s.Once, s.For = true, id })
		if !l.again("opening", func(ctx context.Context) error { _, err := l.node.OpenSlot(ctx, spec); return err }) {
			return
		}
		s, ok := l.await(id)
		if ok {
			l.useClaimed(s)
		}
		var ended yurt.Slot
		ok = ok && l.again("waiting for a slot", func(ctx context.Context) (err error) {
			ended, err = l.node.WaitSlot(ctx, id)
			return err
		})
		if ok && ended.State != yurt.SlotEnded {
			l.t.Errorf("when it has ended, slot %s is %+v", id, ended)
		}
		if !l.again("closing", func(ctx context.Context) error { return l.node.CloseSlot(ctx, id) }) {
			return
		}
		l.count("onces")
	}
}

// await gets the sandbox of a slot. If the answer was lost, the sandbox is found by its label. One
// that was given up with its answer has ended its slot.
func (l *load) await(id string) (yurt.Sandbox, bool) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		_, err := l.node.AwaitSandbox(context.Background(), claimOf(id), id)
		if yurt.CodeOf(err) == yurt.CodeSandboxFailed {
			return yurt.Sandbox{}, false
		}
		l.gone("awaiting", err)
		for _, there := range l.list() {
			if there.Labels[claimLabel] == id && !there.Warm {
				l.mu.Lock()
				twice := l.tried[there.ID]
				l.tried[there.ID] = true
				l.mu.Unlock()
				if twice {
					l.t.Errorf("sandbox %s was handed out twice, the second time to %s", there.ID, id)
				}
				return there, true
			}
		}
		if err == nil {
			l.t.Errorf("what slot %s gave is not there", id)
			return yurt.Sandbox{}, false
		}
	}
	l.t.Errorf("slot %s gave nothing", id)
	return yurt.Sandbox{}, false
}
