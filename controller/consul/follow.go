package consul

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yurtrun/yurt"
)

const (
	// defaultWait is how long Consul holds an answer back without a change, and answerIn how long an answer may take beyond
	// that; Consul itself adds a sixteenth, by chance.
	defaultWait = 10 * time.Second
	answerIn    = 3 * time.Second

	// together is how long changes are collected. share is the pause after an answer as a multiple of the time that reading it
	// took: following takes a fifth of a core at most.
	together = 5 * time.Millisecond
	share    = 4

	firstPause   = 100 * time.Millisecond
	longestPause = 3 * time.Second
)

// errNotYet is the error of a view that was never live.
var errNotYet = errors.New("no answer yet")

// read asks for changes after index, takes them over, and returns the time that this took.
type read func(ctx context.Context, index uint64) (next uint64, cost time.Duration, err error)

// follow reads again and again until ctx is done.
func (v *View) follow(ctx context.Context, which int, what string, read read) {
	index := uint64(0)
	failures := 0
	for ctx.Err() == nil {
		next, cost, err := v.once(ctx, index, read)
		if ctx.Err() != nil {
			return
		}
		v.answered(which, err)
		if err != nil {
			failures++
			index = 0 // the next answer may come from another server, or from one that lost everything
			v.logger.Warn("following Consul", "what", what, "error", err, "failures", failures)
			pause(ctx, backoff(failures))
			continue
		}
		failures = 0
		index = nextIndex(index, next)
		pause(ctx, max(together, share*cost))
	}
}

// nextIndex returns the index to ask for next. An index that does not follow the last one comes from a Consul without that history.
func nextIndex(last, next uint64) uint64 {
	if next < last {
		return 0
	}
	return max(next, 1) // 0 would not wait
}

// once reads once.
func (v *View) once(ctx context.Context, index uint64, read read) (next uint64, cost time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.wait+v.wait/16+answerIn)
	defer cancel()
	next, cost, err = read(ctx, index)
	if err != nil {
		return 0, 0, yurt.Errorf(yurt.CodeUnavailable, "Consul does not answer: %w", err)
	}
	return next, cost, nil
}

func (v *View) readKeys(ctx context.Context, index uint64) (uint64, time.Duration, error) {
	began := v.now()
	pairs, meta, err := v.client.KV().List(keyPrefix, v.options(ctx, index))
	if err != nil {
		return 0, 0, fmt.Errorf("listing %s: %w", keyPrefix, err)
	}
	v.setKeys(pairs)
	return meta.LastIndex, v.now().Sub(began) - meta.RequestTime, nil
}

func (v *View) readChecks(ctx context.Context, index uint64) (uint64, time.Duration, error) {
	began := v.now()
	entries, meta, err := v.client.Health().Service(service, "", false, v.options(ctx, index))
	if err != nil {
		return 0, 0, fmt.Errorf("the service %s: %w", service, err)
	}
	v.setChecks(entries)
	return meta.LastIndex, v.now().Sub(began) - meta.RequestTime, nil
}

func (v *View) options(ctx context.Context, index uint64) *api.QueryOptions {
	return (&api.QueryOptions{Token: v.config.token(), WaitIndex: index, WaitTime: v.wait}).WithContext(ctx)
}

// backoff is how long to wait after so many failures in a row, by chance between half and
// one and a half times that.
func backoff(failures int) time.Duration {
	d := min(firstPause<<min(failures-1, 10), longestPause)
	return d/2 + rand.N(d) //nolint:gosec // chance, no secret
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
