package once

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// Header names a request.
	Header = "Idempotency-Key"
	// MaxKey is the length of the longest key, in bytes.
	MaxKey = 256

	keptFor    = 24 * time.Hour
	maxRecords = 100_000
	purgePause = 10 * time.Minute
	purgeBatch = 1000
	storeLimit = 10 * time.Second // for the store to take an answer

	answerLimit = 5 * time.Second // for a request to have its answer, when it is sent again
	answerPause = 50 * time.Millisecond
)

// Config holds the parts of [Requests]. Store is required.
type Config struct {
	Store  Store
	Logger *slog.Logger // nil: no log
	Now    func() time.Time
}

// Requests carries out each request with a key once. A nil one carries out every request.
type Requests struct {
	store Store
	log   *slog.Logger
	now   func() time.Time
}

// New returns requests over a store. [Requests.Run] removes old ones.
func New(config Config) (*Requests, error) {
	if config.Store == nil {
		return nil, errors.New("making the part that carries out requests once: it needs a store")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Requests{store: config.Store, log: cmp.Or(config.Logger, slog.New(slog.DiscardHandler)), now: config.Now}, nil
}

// Run removes old requests until ctx ends.
func (r *Requests) Run(ctx context.Context) error {
	tick := time.NewTicker(purgePause)
	defer tick.Stop()
	for {
		if err := r.purge(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("old requests with an Idempotency-Key were not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// purge removes old requests in small steps.
func (r *Requests) purge(ctx context.Context) error {
	for {
		removed, err := r.store.PurgeRequests(ctx, r.now().Add(-keptFor), maxRecords, purgeBatch)
		if err != nil || removed < purgeBatch {
			return err
		}
	}
}

// Wrap returns a function that has a handler carry out the requests of each key once. refuse answers with an error.
func (r *Requests) Wrap(refuse func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if r == nil {
			return next
		}
		return r.handler(next, refuse)
	}
}

func (r *Requests) handler(next http.Handler, refuse func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(Header) == "" {
			next.ServeHTTP(w, req)
			return
		}
		if err := r.serve(w, req, next); err != nil {
			refuse(w, req, err)
		}
	})
}

// serve carries out a request, or answers as its first try was answered.
func (r *Requests) serve(w http.ResponseWriter, req *http.Request, next http.Handler) error {
	record, err := r.read(w, req)
	if err != nil {
		return err
	}
	first, err := r.claim(req.Context(), record)
	switch {
	case err != nil:
		return err
	case first.Claim == record.Claim:
		r.carryOut(w, req, record, next)
	case first.Hash != record.Hash:
		return conflict("the key was used with another request; use a new key for a new request")
	case first.Answer == nil:
		return conflict("the first request with this key has no answer: it is under way, or broke off and may have been carried out. Look at the effect of it before you repeat it with a new key")
	case first.Answer.Dropped:
		return conflict("the first request with this key was carried out, and answered by status %d. Its answer is not kept, since it is large or has a secret; use a new key for a new request", first.Answer.Status)
	case first.Answer.Execution != "":
		next.ServeHTTP(w, req.WithContext(with(req.Context(), &call{execution: first.Answer.Execution})))
	default:
		first.Answer.write(w)
	}
	return nil
}

// claim claims the key of a request, or returns the first request with the key. It waits for a short time for the answer of one that is
// under way: a client whose connection broke sends its request again at once.
func (r *Requests) claim(ctx context.Context, record Record) (Record, error) {
	for {
		first, err := r.store.ClaimRequest(ctx, record)
		settled := first.Claim == record.Claim || first.Hash != record.Hash || first.Answer != nil
		if err != nil || settled || r.now().Sub(first.At) > answerLimit {
			return first, err
		}
		select {
		case <-ctx.Done():
			return Record{}, ctx.Err()
		case <-time.After(answerPause):
		}
	}
}

func conflict(format string, args ...any) error {
	return yurt.FieldErrorf(yurt.CodeIdempotencyConflict, Header, format, args...)
}

// carryOut carries out the first request with a key.
func (r *Requests) carryOut(w http.ResponseWriter, req *http.Request, record Record, next http.Handler) {
	began := &call{begin: func(ctx context.Context, execution string) { r.answered(ctx, record, Answer{Execution: execution}) }}
	answer := &recorder{ResponseWriter: w, call: began}
	next.ServeHTTP(answer, req.WithContext(with(req.Context(), began)))
	defer answer.send()
	switch {
	case began.execution != "":
	case !began.refused && answer.status >= http.StatusOK && answer.status < http.StatusMultipleChoices:
		r.answered(req.Context(), record, answer.answer())
	case began.refused || refused(answer.status):
		ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), storeLimit)
		defer cancel()
		if err := r.store.ReleaseRequest(ctx, record); err != nil {
			r.log.WarnContext(ctx, "the key of a refused request is not free", "error", err)
		}
	}
}

// answered stores an answer.
func (r *Requests) answered(ctx context.Context, record Record, answer Answer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if err := r.store.AnswerRequest(ctx, record, answer); err != nil {
		r.log.WarnContext(ctx, "the answer to a request with an Idempotency-Key is not kept", "error", err)
	}
}

// refused reports whether a status says that the request had no effect.
func refused(status int) bool {
	switch status {
	case http.StatusNotImplemented, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		return true
	}
	return status >= http.StatusBadRequest && status < 499 // which is of a client that left
}
