package cluster

import "time"

// settleTime is how long a claim is still subtracted after it is over: until then the view may be older. Nodes publish at most
// every 50 ms, and their news takes a while to come.
const settleTime = 250 * time.Millisecond

// ledger holds the claims of this controller that the view may not show yet. It is not safe for concurrent use.
type ledger struct {
	debts map[shelf]*debt
	swept time.Time // when debts that are paid were last removed
}

// shelf is the warm sandboxes of one template on one node.
type shelf struct{ node, digest string }

type debt struct {
	open    int         // claims under way
	settled []time.Time // when those that got one stop to count, in order
	refused time.Time   // until then the node has no warm sandbox, even if the view shows one
}

func newLedger() *ledger { return &ledger{debts: map[shelf]*debt{}} }

// free returns how many of the sandboxes that the view shows are left to be claimed.
func (l *ledger) free(at shelf, shown int, now time.Time) int {
	d := l.debts[at]
	if d == nil {
		return shown
	}
	d.trim(now)
	if now.Before(d.refused) {
		return 0
	}
	return shown - d.open - len(d.settled)
}

// taken counts, by digest, the sandboxes to subtract from the view.
func (l *ledger) taken(now time.Time) map[string]int {
	taken := map[string]int{}
	for at, d := range l.debts {
		d.trim(now)
		taken[at.digest] += d.open + len(d.settled)
	}
	return taken
}

// wasRefused reports whether the node refused a claim just now.
func (l *ledger) wasRefused(at shelf, now time.Time) bool {
	d := l.debts[at]
	return d != nil && now.Before(d.refused)
}

func (d *debt) trim(now time.Time) {
	paid := 0
	for paid < len(d.settled) && !now.Before(d.settled[paid]) {
		paid++
	}
	d.settled = d.settled[paid:]
}

// begin counts a claim that begins.
func (l *ledger) begin(at shelf, now time.Time) {
	l.sweep(now)
	d := l.debts[at]
	if d == nil {
		d = &debt{}
		l.debts[at] = d
	}
	d.open++
}

// outcome is how a claim ended.
type outcome int

const (
	claimGot     outcome = iota // it has a sandbox
	claimRefused                // the node had no sandbox
	claimFailed                 // the outcome is unknown
	claimLeft                   // likewise, since the caller left, which is no fault of the node
)

// end counts a claim that is over.
func (l *ledger) end(at shelf, how outcome, now time.Time) {
	d := l.debts[at]
	d.open--
	switch how {
	case claimGot, claimFailed, claimLeft: // a call that failed here may have succeeded there
		d.settled = append(d.settled, now.Add(settleTime))
	case claimRefused:
		d.refused = now.Add(settleTime)
	}
}

// sweep forgets settled claims, now and then.
func (l *ledger) sweep(now time.Time) {
	if now.Sub(l.swept) < settleTime {
		return
	}
	l.swept = now
	for at, d := range l.debts {
		if d.trim(now); d.open == 0 && len(d.settled) == 0 && !now.Before(d.refused) {
			delete(l.debts, at)
		}
	}
}
