package packages

import (
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// maxSandboxInstalls is how many installations one sandbox may wait for at once.
	maxSandboxInstalls = 4
	// freeFailures is how many installations in a row may fail in a sandbox before the next
	// one has to wait.
	freeFailures = 5
	// Then it waits, from least to most, twice as long after each.
	installPauseLeast = 5 * time.Second
	installPauseMost  = 5 * time.Minute
)

// Quota keeps one sandbox from having the installations of a node to itself, by many at once or by ever more that fail. The zero
// value allows as many as a sandbox may begin with. Its methods may be called concurrently.
type Quota struct {
	mu            sync.Mutex
	going, failed int
	until         time.Time // no installation begins before
}

// begin refuses an installation beyond the quota. Otherwise the caller calls end in the end.
func (q *Quota) begin(now time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.going >= maxSandboxInstalls {
		return refusal(installPauseLeast, "the session waits for %d installations of packages, as many as it may; wait for some to end", q.going)
	}
	if left := q.until.Sub(now); left > 0 {
		return refusal(left, "%d installations of packages failed one after the other in this session; the next may begin in %s", q.failed, yurt.Duration(left.Round(time.Second)))
	}
	q.going++
	return nil
}

func (q *Quota) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.going--
}

// note takes down how an installation ended that was not given up.
func (q *Quota) note(err error, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		q.failed = 0
		return
	}
	if q.failed++; q.failed >= freeFailures {
		pause := installPauseLeast << min(q.failed-freeFailures, 10)
		q.until = now.Add(min(pause, installPauseMost))
	}
}

func refusal(retry time.Duration, format string, args ...any) error {
	err := yurt.Errorf(yurt.CodeOverloaded, format, args...)
	err.RetryAfter = retry
	return err
}
