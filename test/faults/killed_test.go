package faults

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// TestKilledAtAnyMoment kills the executor over and over while it makes sandboxes, runs
// things, streams, writes files and destroys. Started again it has every sandbox that
// it said it had, with what runs in it, and nothing else stays.
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
	var survivors []yurt.Sandbox
	for range 2 {
		s, ok := l.create()
		if !ok {
			t.Fatal("there is no sandbox to begin with")
		}
		survivors = append(survivors, s)
	}
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	var callers sync.WaitGroup
	for range 2 {
		callers.Go(func() { l.churn(stop) })
	}
	for _, s := range survivors {
		callers.Go(func() { l.stream(stop, s.ID) })
	}
	callers.Go(func() { l.write(stop, survivors[0].ID) })

	for range kills {
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		signal := syscall.SIGKILL
		if random.IntN(5) == 0 {
			signal = syscall.SIGTERM // which lets it finish what it is at
		}
		d.stop(signal)
		d.start()
		l.checkSurvivors(survivors)
	}
	cancel()
	callers.Wait()
	l.checkQuiet()
	t.Logf("it came to %v", l.done)
	for _, what := range []string{"sandboxes", "streams", "files"} {
		if l.done[what] == 0 {
			t.Errorf("there was no load: no %s", what)
		}
	}
}

// checkSurvivors wants the sandboxes to be there, the same that they were.
func (l *load) checkSurvivors(survivors []yurt.Sandbox) {
	l.t.Helper()
	list, err := l.node.Sandboxes(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	known := map[string]yurt.Sandbox{}
	for _, s := range list {
		known[s.ID] = s
	}
	for _, s := range survivors {
		if now := known[s.ID]; now.State != yurt.SandboxReady || now.PID != s.PID {
			l.t.Errorf("sandbox %s, process %d, is now %+v", s.ID, s.PID, now)
		}
	}
}

// checkQuiet compares, when nobody does anything, what the executor says it has with
// what callers were told, and with what is on the machine.
func (l *load) checkQuiet() {
	l.t.Helper()
	list, err := l.node.Sandboxes(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	known := map[string]bool{}
	for _, s := range list {
		known[s.ID] = true
		if !l.tried[s.ID] || l.destroyed[s.ID] || s.State != yurt.SandboxReady {
			l.t.Errorf("it has %+v; asked for: %v, destroyed: %v", s, l.tried[s.ID], l.destroyed[s.ID])
		}
	}
	var there leftovers.Inventory
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // what is destroyed goes in the background
		if there, err = leftovers.Of(l.node.stateDir); err != nil {
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
