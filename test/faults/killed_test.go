package faults

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/leftovers"
)

// kills is at how many moments the executor is killed.
const kills = 50

// seedEnv gives the seed of an earlier run.
const seedEnv = "YURT_TEST_SEED"

// TestKilledAtAnyMoment kills the executor, alone or with its broker, over and over while it makes sandboxes, runs programs,
// streams, writes files, pauses, reserves, hands out and destroys. Started again it has every
// sandbox that it reported before, with its processes: contexts keep their state, paused sandboxes
// stay so, no sandbox is handed out twice, and no other sandbox stays.
func TestKilledAtAnyMoment(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the moments are those of %s=%d", seedEnv, seed)
	random := rand.New(rand.NewPCG(seed, 0))

	d := newDaemon(t)
	l := newLoad(t, d)
	streaming, counting, freezing, asleep := l.mustCreate(), l.mustCreate(), l.mustCreate(), l.fallAsleep()
	survivors := readyOnes(streaming, counting)
	survivors[freezing.ID] = survivor{freezing.PID, []yurt.SandboxState{yurt.SandboxReady, yurt.SandboxPaused}}
	survivors[asleep.ID] = survivor{asleep.PID, []yurt.SandboxState{yurt.SandboxPaused}}
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	var callers sync.WaitGroup
	for _, call := range []func(){
		func() { l.churn(stop) },
		func() { l.stream(stop, streaming.ID) },
		func() { l.stream(stop, counting.ID) },
		func() { l.write(stop, streaming.ID) },
		func() { l.remember(stop, counting.ID) },
		func() { l.freeze(stop, freezing.ID) },
		func() { l.stock(stop) },
		func() { l.claims(stop, "one") },
		func() { l.claims(stop, "two") },
	} {
		callers.Go(call)
	}

	for range kills {
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		switch random.IntN(5) {
		case 0:
			d.restart(syscall.SIGTERM) // which lets it finish its work
		case 1:
			d.killExecutor()
		default:
			d.restart(syscall.SIGKILL)
		}
		l.checkSurvivors(survivors)
		l.checkAsleep(asleep)
	}
	cancel()
	callers.Wait()
	l.checkReserve()
	l.wake(asleep)
	l.checkQuiet()
	t.Logf("it came to %v", l.done)
	for _, what := range []string{"sandboxes", "streams", "files", "contexts", "pauses", "reserved", "claims"} {
		if l.done[what] == 0 {
			t.Errorf("there was no load: no %s", what)
		}
	}
}

// survivor is a sandbox that lives as long as the test, and the states that it may have meanwhile.
type survivor struct {
	pid    int
	states []yurt.SandboxState
}

// readyOnes are sandboxes that stay ready.
func readyOnes(made ...yurt.Sandbox) map[string]survivor {
	survivors := map[string]survivor{}
	for _, s := range made {
		survivors[s.ID] = survivor{s.PID, []yurt.SandboxState{yurt.SandboxReady}}
	}
	return survivors
}

// checkSurvivors wants the sandboxes to be there, the same that they were.
func (l *load) checkSurvivors(survivors map[string]survivor) {
	l.t.Helper()
	known := l.list()
	for id, s := range survivors {
		if now := known[id]; now.PID != s.pid || !slices.Contains(s.states, now.State) {
			l.t.Errorf("sandbox %s, process %d, is now %+v", id, s.pid, now)
		}
	}
}

// checkQuiet compares, while no caller is at work, the executor's list of sandboxes with the
// answers that callers got, and with the processes and files on the machine.
func (l *load) checkQuiet() {
	l.t.Helper()
	known := map[string]bool{}
	for _, s := range l.list() {
		known[s.ID] = true
		if !l.tried[s.ID] || l.destroyed[s.ID] || s.State != yurt.SandboxReady {
			l.t.Errorf("it has %+v; asked for: %v, destroyed: %v", s, l.tried[s.ID], l.destroyed[s.ID])
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // sandboxes are destroyed in the background
		there, err := leftovers.Of(l.node.stateDir)
		if err != nil {
			l.t.Fatal(err)
		}
		if strays := straysOf(there, known); len(strays) == 0 {
			return
		} else if time.Now().After(deadline) {
			l.t.Errorf("no sandbox has %v", strays)
			return
		}
	}
}

// straysOf lists directories and cgroups of sandboxes that are not known.
func straysOf(there leftovers.Inventory, known map[string]bool) []string {
	var strays []string
	for _, path := range append(there.Directories, there.Cgroups...) {
		for dir := path; len(dir) > 1; dir = filepath.Dir(dir) {
			if id := filepath.Base(dir); yurt.ValidID(yurt.SandboxIDPrefix, id) && !known[id] {
				strays = append(strays, path)
			}
		}
	}
	return strays
}
