// Package shortage bounds how often the kernel ends processes of one sandbox for want of memory. Each time costs the host a search for
// the process and lines in its log, and a program that starts children again and again can have it done dozens of times a second.
//
// A [Guard] allows a sandbox some such ends at once and one a second in the long run. Beyond that it ends the execution or the
// interpreter whose processes they were, and has the sandbox's next process wait.
package shortage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/records"
)

const (
	// Burst is how many processes of a sandbox the kernel may end at once: more than a parallel build or test run starts together
	// with the default limits.
	Burst = 16
	// perSecond is how many it may end in the long run.
	perSecond = 1
	// mostDebt bounds the wait of the next process to 3 s, which is well within the time that the start of a process may take.
	mostDebt = 2
	// gathering is how long the guard waits after an alarm: the kernel raises it before it ends a process and counts that.
	gathering = 50 * time.Millisecond
)

// Counter says how many processes of each run of a sandbox the kernel has ended for want of memory, by the id of the run.
type Counter interface {
	Kills() (map[string]int64, error)
}

// Alarm goes off when the memory of a sandbox has run out.
type Alarm interface {
	// Wait returns once the alarm has gone off since the last call, or ctx is done, with the error of ctx.
	Wait(ctx context.Context) error
}

// Guard counts the processes of one sandbox that the kernel ended. The zero value is ready to use. Its methods may be called concurrently.
type Guard struct {
	// Path is the file that keeps the count for the next executor. Without it the count is of this process alone. It does not change.
	Path string

	mu     sync.Mutex
	loaded bool // count has the content of the file
	count  count
	debt   float64 // ends that the allowance does not cover yet, at the time of at
	at     time.Time
}

// count is the content of a guard's file.
type count struct {
	Total int64            `json:"total"` // ends since the sandbox was made
	Seen  map[string]int64 `json:"seen"`  // ends, by the id of the run
}

// Total returns how many processes of the sandbox the kernel has ended since the sandbox was made.
func (g *Guard) Total() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.load()
	return g.count.Total
}

// load reads the file once. The caller holds the lock.
func (g *Guard) load() {
	if g.loaded {
		return
	}
	g.loaded = true
	if g.Path == "" || records.Read(g.Path, &g.count) != nil { // there is no file before the first end
		g.count = count{}
	}
	if g.count.Seen == nil {
		g.count.Seen = make(map[string]int64)
	}
}

// raise notes how many processes of a run have ended, and returns how many of them are new. The caller holds the lock.
func (g *Guard) raise(run string, kills int64) int64 {
	g.load()
	grown := kills - g.count.Seen[run]
	if grown <= 0 {
		return 0
	}
	g.count.Seen[run] = kills
	g.count.Total += grown
	if g.Path != "" {
		_ = records.Write(g.Path, g.count) // the next end writes it again
	}
	return grown
}

// Note says how many processes of a run the kernel has ended since it began. It reports whether there are new ones.
func (g *Guard) Note(run string, kills int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	grown := g.raise(run, kills)
	if grown == 0 {
		return false
	}
	g.settle()
	g.debt = min(g.debt+float64(grown), Burst+mostDebt)
	return true
}

// settle reduces the debt by the ends that the time since has allowed. The caller holds the lock.
func (g *Guard) settle() {
	now := time.Now()
	g.debt = max(0, g.debt-now.Sub(g.at).Seconds()*perSecond)
	g.at = now
}

// over returns how long it takes until the kernel may end a process again; 0 if it may now.
func (g *Guard) over() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle()
	return time.Duration(max(0, g.debt-(Burst-1)) / perSecond * float64(time.Second))
}

// Message says that a sandbox with that limit has no memory left, and how long its next process waits.
func (g *Guard) Message(limit yurt.Size) string {
	text := fmt.Sprintf("the sandbox reached its memory limit of %s; ask for more resources.memory", limit)
	if wait := g.over(); wait > 0 {
		text += fmt.Sprintf(". Its processes ran out of memory more than %d times within moments, so they were ended together, and the next one waits for %s", Burst, wait.Round(time.Second/10))
	}
	return text
}

// Await waits until another process may be started in the sandbox: at once, unless the kernel has just ended too many.
func (g *Guard) Await(ctx context.Context, gone <-chan struct{}) error {
	wait := g.over()
	if wait == 0 {
		return nil
	}
	refused := func() error {
		return yurt.Errorf(yurt.CodeOverloaded, "processes of this sandbox ran out of memory too often, so that its next one waits for %s; try again after that, and ask for more resources.memory", wait.Round(time.Second/10))
	}
	if until, ok := ctx.Deadline(); ok && time.Until(until) < wait {
		return refused()
	}
	select {
	case <-time.After(wait):
		return nil
	case <-gone:
		return nil // the start says why it fails
	case <-ctx.Done():
		return errors.Join(refused(), ctx.Err())
	}
}

// Follow counts the ends in all runs of a sandbox until ctx is done, and has end end the runs that go on beyond the allowance. Ends
// from before it leave the allowance as it is.
func (g *Guard) Follow(ctx context.Context, counter Counter, alarm Alarm, end func(ctx context.Context, run string)) error {
	if err := g.look(counter, g.remember); err != nil {
		return err
	}
	for {
		if err := alarm.Wait(ctx); err != nil {
			return ifOver(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gathering):
		}
		var grown []string
		err := g.look(counter, func(run string, kills int64) {
			if g.Note(run, kills) {
				grown = append(grown, run)
			}
		})
		if err != nil {
			return ifOver(ctx, err)
		}
		if g.over() > 0 {
			for _, run := range grown {
				end(ctx, run)
			}
		}
	}
}

// ifOver returns an error unless ctx is done.
func ifOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the sandbox ends
	}
	return fmt.Errorf("watching the memory of a sandbox: %w", err)
}

// look calls each with the count of every run, and forgets the runs that are gone.
func (g *Guard) look(counter Counter, each func(run string, kills int64)) error {
	counts, err := counter.Kills()
	if err != nil {
		return err
	}
	for run, kills := range counts {
		each(run, kills)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.count.Seen, func(run string, _ int64) bool {
		_, there := counts[run]
		return !there
	})
	return nil
}

// remember has the ends in a run until now leave the allowance as it is.
func (g *Guard) remember(run string, kills int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.raise(run, kills)
}
