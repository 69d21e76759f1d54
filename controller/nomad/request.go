package nomad

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
)

const (
	requestTimeout = 10 * time.Second // of one try
	firstPause     = 50 * time.Millisecond
	longestPause   = 2 * time.Second
)

func (e *Engine) query(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{AuthToken: e.config.token()}).WithContext(ctx)
}

func (e *Engine) write(ctx context.Context) *api.WriteOptions {
	return (&api.WriteOptions{AuthToken: e.config.token()}).WithContext(ctx)
}

// registration is a job on its way to Nomad.
type registration struct {
	done  chan struct{} // closed when the rest is known
	index uint64        // from which on Nomad has it
	err   error
}

// errClosed is the error of calls to a closed engine.
var errClosed = yurt.Errorf(yurt.CodeUnavailable, "the controller is stopping")

// register has Nomad take the job and place it. Repeating it has no further effect. When ctx is done it tries no further, but a
// request under way is not cut short, since its outcome would be unknown.
func (e *Engine) register(ctx context.Context, job *api.Job) *registration {
	r := &registration{done: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		r.err = errClosed
		close(r.done)
		return r
	}
	e.done.Go(func() {
		defer close(r.done)
		r.err = e.retry(ctx, func(context.Context) error {
			return once(e.background, func(ctx context.Context) error {
				response, _, err := e.client.Jobs().Register(job, e.write(ctx))
				if err == nil {
					r.index = response.EvalCreateIndex
				}
				return err
			})
		})
	})
	return r
}

// evaluate has Nomad try again to place a job.
func (e *Engine) evaluate(ctx context.Context, jobID string) error {
	return e.retry(ctx, func(ctx context.Context) error {
		_, _, err := e.client.Jobs().EvaluateWithOpts(jobID, api.EvalOptions{}, e.write(ctx))
		return err
	})
}

// remove stops the job and has Nomad forget it. One that is not there is no error.
func (e *Engine) remove(ctx context.Context, jobID string) error {
	leave, err := e.stops.Enter(ctx, "", true)
	if err != nil {
		return err
	}
	defer leave()
	return e.retry(ctx, func(ctx context.Context) error {
		_, _, err := e.client.Jobs().Deregister(jobID, true, e.write(ctx))
		if status(err) == http.StatusNotFound {
			return nil
		}
		return err
	})
}

// look asks for the outcome of a job. An outcome that cannot be found out stays unclear.
func (e *Engine) look(ctx context.Context, jobID string) news {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	allocations, _, err := e.client.Jobs().Allocations(jobID, false, e.query(ctx))
	if err != nil {
		return news{what: unclear}
	}
	for _, a := range allocations {
		if a.DesiredStatus == api.AllocDesiredStatusRun && a.NodeName != "" {
			return news{what: placed, node: a.NodeName}
		}
	}
	var list []*struct {
		evaluation
		CreateIndex uint64
	}
	path := "/v1/job/" + url.PathEscape(jobID) + "/evaluations"
	if _, err := e.client.Raw().Query(path, &list, e.query(ctx)); err != nil {
		return news{what: unclear}
	}
	last := 0
	for i, one := range list {
		if one.CreateIndex > list[last].CreateIndex {
			last = i
		}
	}
	if len(list) > 0 && list[last].TriggeredBy == stoppedJob {
		return news{what: removed}
	}
	if len(list) > 0 {
		if n, ok := list[last].evaluation.news(); ok {
			return n
		}
	}
	return news{what: unclear}
}

// retry does it until it works, fails for a reason that does not pass, or ctx is done.
func (e *Engine) retry(ctx context.Context, try func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := once(ctx, try)
		if err == nil || !transient(err) && ctx.Err() == nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w; Nomad said last: %w", ctx.Err(), err)
		}
		e.logger.Debug("asking Nomad again", "error", err, "failures", failures)
		pause(ctx, backoff(failures))
	}
}

func once(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return try(ctx)
}

// status returns the HTTP status of Nomad's answer, or 0.
func status(err error) int {
	var response api.UnexpectedResponseError
	if errors.As(err, &response) {
		return response.StatusCode()
	}
	return 0
}

// transient reports whether the same request can work a little later: Nomad is away, is
// choosing a leader, or is busy.
func transient(err error) bool {
	switch code := status(err); code {
	case 0:
		var network net.Error
		var resolver *url.Error
		return errors.As(err, &network) || errors.As(err, &resolver) || errors.Is(err, context.DeadlineExceeded)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusInternalServerError:
		text := err.Error()
		for _, passing := range []string{"No cluster leader", "leadership", "No path to region", "rpc error", "EOF", "connection", "timeout", "timed out", "not ready to serve"} {
			if strings.Contains(text, passing) {
				return true
			}
		}
		return false
	default:
		return false
	}
}

// explain translates an answer of Nomad's into an error of the API. doing is a verb phrase.
func explain(doing string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), yurt.CodeOf(err) != yurt.CodeInternal && status(err) == 0 && !transient(err):
		return fmt.Errorf("%s: %w", doing, err)
	case status(err) == http.StatusForbidden:
		return yurt.Errorf(yurt.CodeUnavailable, "%s: Nomad refuses the controller's token: %w", doing, err)
	case transient(err):
		return yurt.Errorf(yurt.CodeUnavailable, "%s: Nomad is not there: %w", doing, err)
	default:
		return yurt.Errorf(yurt.CodeInternal, "%s: Nomad says: %w", doing, err)
	}
}

// backoff is how long to wait after so many failures in a row.
func backoff(failures int) time.Duration {
	wait := firstPause << min(failures-1, 10)
	return spread(min(wait, longestPause))
}

// spread keeps those that began together from going on together: it returns between half
// and one and a half of d.
func spread(d time.Duration) time.Duration {
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
