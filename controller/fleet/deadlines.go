package fleet

import (
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// Deadlines knows when something falls due. [Keeper.Run] does the work.
type Deadlines struct {
	wake chan struct{} // told when something falls due sooner than is waited for

	mu      sync.Mutex
	sweep   bool      // store and nodes are to be compared at once
	waiting time.Time // the next deadline; zero while due work is done
	forget  []forgettable
}

// forgettable is an ended execution that its node still holds.
type forgettable struct {
	at        time.Time
	node      contract.ExecutionNode
	sandbox   string
	execution string
}

// NewDeadlines returns a Deadlines without a deadline.
func NewDeadlines() *Deadlines { return &Deadlines{wake: make(chan struct{}, 1)} }

// Arm makes the reaper look at the session in time.
func (d *Deadlines) Arm(session yurt.Session) {
	at, _ := session.Expiry()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting.IsZero() || at.Before(d.waiting) {
		d.notify()
	}
}

// ForgetLater has the node forget the execution in a while. The delay is the same
// for all, so the list stays in order.
func (d *Deadlines) ForgetLater(node contract.ExecutionNode, sandboxID, executionID string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.forget = append(d.forget, forgettable{now.Add(forgetAfter), node, sandboxID, executionID}); len(d.forget) > maxRemembered {
		d.notify()
	}
}

// notify wakes the reaper, or has it look again when it is awake.
func (d *Deadlines) notify() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// SweepSoon has store and nodes compared at once.
func (d *Deadlines) SweepSoon() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep = true
	d.notify()
}

// takeSweep reports whether that was asked for since it was last called.
func (d *Deadlines) takeSweep() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := d.sweep
	d.sweep = false
	return asked
}

// takeForgettable returns the executions to forget by now, and those beyond the greatest number.
func (d *Deadlines) takeForgettable(now time.Time) []forgettable {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := max(0, len(d.forget)-maxRemembered)
	for n < len(d.forget) && !d.forget[n].at.After(now) {
		n++
	}
	due := d.forget[:n:n]
	d.forget = d.forget[n:]
	return due
}

// waitUntil notes the next deadline and returns it: at, or sooner when an execution is to be forgotten before.
func (d *Deadlines) waitUntil(at time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.forget) > 0 && d.forget[0].at.Before(at) {
		at = d.forget[0].at
	}
	d.waiting = at
	return at
}

func (d *Deadlines) working() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = time.Time{}
}
