package nomad

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"
)

const (
	// eventPath subscribes to the outcomes of orders, in the namespace of the client.
	eventPath = "/v1/event/stream?topic=Evaluation&topic=Allocation"
	// maxEventBytes bounds one line of Nomad's stream; beyond that, orders are looked up one by one.
	maxEventBytes = 16 << 20
	// silence is how long a living stream can be quiet: Nomad sends a heartbeat every 30 seconds.
	silence = 90 * time.Second
)

// happening is a kind of news.
type happening int

const (
	placed  happening = iota // on node
	refusal                  // no node can take it; groups says why
	gaveUp                   // Nomad tried in vain to agree with itself, and may be asked again
	removed                  // a user stopped the job
	unclear                  // the order has to be looked after
)

// news is the outcome of an order.
type news struct {
	what   happening
	index  uint64 // at which it happened; 0 is now
	node   string
	groups map[string]metric
}

// waiter waits for the outcome of one job.
type waiter struct {
	job  string
	news chan news
}

// waiters are the present waiters, at most as many as the gate lets in.
type waiters struct {
	mu   sync.Mutex
	list []*waiter
}

func (w *waiters) add(job string) *waiter {
	// Beyond that, looking finds the outcome: an order has a handful of events.
	one := &waiter{job: job, news: make(chan news, 16)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, one)
	return one
}

func (w *waiters) remove(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(other *waiter) bool { return other == one })
}

// of returns the waiters for one of the keys of an event.
func (w *waiters) of(keys []string) []*waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*waiter
	for _, one := range w.list {
		if slices.Contains(keys, one.job) {
			list = append(list, one)
		}
	}
	return list
}

// tellAll wakes all waiters.
func (w *waiters) tellAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.list {
		one.tell(news{what: unclear})
	}
}

func (w *waiter) tell(n news) {
	select {
	case w.news <- n:
	default:
	}
}

// events is one line of Nomad's event stream.
type events struct {
	Index  uint64
	Events []event
}

type event struct {
	Index      uint64
	FilterKeys []string
	Payload    json.RawMessage // used only while a caller waits for a key
}

type payload struct {
	Evaluation *evaluation
	Allocation *allocation
}

type evaluation struct {
	Status         string
	TriggeredBy    string
	FailedTGAllocs map[string]metric
}

type allocation struct {
	NodeName      string
	DesiredStatus string
}

// watch follows Nomad's events until ctx is done.
func (e *Engine) watch(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		began := e.now()
		err := e.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if e.now().Sub(began) > silence {
			failures = 0
		}
		failures++
		e.logger.Warn("Nomad's events", "error", err, "failures", failures)
		pause(ctx, backoff(failures))
	}
}

// follow reads one stream of events to its end. Callers that wait while it begins look up earlier events themselves.
func (e *Engine) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := time.AfterFunc(silence, cancel)
	defer watchdog.Stop()
	body, err := e.client.Raw().Response(eventPath, e.query(ctx))
	if err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEventBytes)
	for first := true; lines.Scan(); first = false {
		watchdog.Reset(silence)
		if first {
			e.waiters.tellAll()
		}
		if err := e.deliver(lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	return errors.Join(io.ErrUnexpectedEOF, ctx.Err())
}

// deliver passes a line of the stream to the waiters.
func (e *Engine) deliver(line []byte) error {
	var batch events
	if err := json.Unmarshal(line, &batch); err != nil {
		return fmt.Errorf("an event: %w", err)
	}
	for i := range batch.Events {
		one := &batch.Events[i]
		interested := e.waiters.of(one.FilterKeys)
		if len(interested) == 0 {
			continue
		}
		var p payload
		if err := json.Unmarshal(one.Payload, &p); err != nil {
			return fmt.Errorf("an event: %w", err)
		}
		n, ok := p.news()
		n.index = one.Index
		for _, w := range interested {
			if ok {
				w.tell(n)
			}
		}
	}
	return nil
}

// news returns an event's news of an order, if it has any.
func (p *payload) news() (news, bool) {
	switch {
	case p.Allocation != nil:
		a := p.Allocation
		return news{what: placed, node: a.NodeName}, a.NodeName != "" && a.DesiredStatus == api.AllocDesiredStatusRun
	case p.Evaluation != nil:
		return p.Evaluation.news()
	default:
		return news{}, false
	}
}

// statusFailed and the others are states of an evaluation.
const (
	statusComplete = "complete"
	statusFailed   = "failed"
	stoppedJob     = "job-deregister" // the trigger of an evaluation
)

func (v *evaluation) news() (news, bool) {
	switch {
	case v.TriggeredBy == stoppedJob: // which may have been the last of that name
		return news{what: unclear}, true
	case v.Status == statusFailed:
		return news{what: gaveUp}, true
	case v.Status == statusComplete && len(v.FailedTGAllocs) > 0:
		return news{what: refusal, groups: v.FailedTGAllocs}, true
	case v.Status == statusComplete: // its allocation was told of before, unless that was there
		return news{what: unclear}, true
	default:
		return news{}, false
	}
}
