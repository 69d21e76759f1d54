package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/yurtrun/yurt"
)

const (
	attemptLimit = 5 * time.Second         // for one try, so that a server that hangs is noticed
	patience     = 2500 * time.Millisecond // for all tries of a request
	firstPause   = 10 * time.Millisecond   // between the first two tries; doubled after each
	longestPause = 300 * time.Millisecond
	retryFull    = 5 * time.Second // for a client to wait while the disk is full
	fullFor      = 3 * time.Second // the store is full since it last said so; each controller writes every second
	retryAfter   = time.Second     // for a client to wait at least; up to twice as long
)

// errLost marks operations that failed because their connection broke.
var errLost = errors.New("the connection was lost")

// refusal is the error of a caller's own decision, which is returned as it is.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// verdict is the treatment of an error.
type verdict int

const (
	final verdict = iota // the same would come of another try
	again                // it lost against another transaction
	away                 // the server cannot be reached, or does not serve now
)

func (v verdict) String() string { return [...]string{"final", "conflict", "away"}[v] }

// judge classifies an error. The codes are those of PostgreSQL's appendix A.
func judge(err error) verdict {
	var (
		answer  *pgconn.PgError
		connect *pgconn.ConnectError
		coded   *yurt.Error
		refused *refusal
	)
	switch {
	case err == nil, errors.As(err, &refused), errors.As(err, &coded):
		return final
	case isFull(err):
		return final
	case errors.As(err, &answer):
		return judgeCode(answer.Code)
	case errors.As(err, &connect), errors.Is(err, errLost), errors.Is(err, context.DeadlineExceeded):
		return away
	default:
		return final
	}
}

func judgeCode(code string) verdict {
	switch {
	case strings.HasPrefix(code, "40"): // serialization failure, deadlock
		return again
	case strings.HasPrefix(code, "08"), // connection exception
		strings.HasPrefix(code, "53"),                                       // out of connections, memory or disk
		slices.Contains([]string{"57P01", "57P02", "57P03", "57P05"}, code), // shutting down, crashed, starting
		code == "25006": // read-only: a standby that has not taken over yet
		return away
	default:
		return final
	}
}

// errFull says that the server had no room a moment ago.
var errFull = errors.New("a write had no room on the server's disk")

// isFull reports whether the server has no room on its disk.
func isFull(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "53100"
}

// diskFull is the error of a write for which the server has no room.
func diskFull(err error) error {
	full := yurt.Errorf(yurt.CodeDiskFull, "the disk of the server's store is full: its operator has to make room%w", yurt.Hidden(err))
	full.RetryAfter = retryFull
	return full
}

// retry repeats try until its outcome is final, or the patience ends. While the server is known to be away, it tries once.
func (s *Store) retry(ctx context.Context, what string, try func(ctx context.Context) error) error {
	deadline := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := s.attempt(ctx, try)
		if ctx.Err() != nil && err != nil {
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
		v := judge(err)
		switch {
		case v == final:
			if err == nil {
				s.back()
				return nil
			}
			if isFull(err) {
				s.full.Store(time.Now().UnixNano())
				s.log.Error("the store's disk is full", "doing", what, "error", err)
				return diskFull(err)
			}
			return describe(what, err)
		case v == away && s.away.Load(), time.Now().Add(pause).After(deadline):
			s.lost(what, err, v)
			return unavailable(what, err)
		}
		s.metrics.retries.WithLabelValues(v.String()).Inc()
		rest(ctx, pause/2+rand.N(pause)) //nolint:gosec // jitter, no secret
	}
}

func (s *Store) attempt(ctx context.Context, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	return try(ctx)
}

// describe adds the name of the failed operation to a plain error. An error with a code is for users to read, and
// stays unchanged.
func describe(what string, err error) error {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused.error
	}
	if yurt.CodeOf(err) != yurt.CodeInternal {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// lost notes that a request was given up.
func (s *Store) lost(what string, err error, v verdict) {
	s.metrics.outages.Inc()
	if v == away && !s.away.Swap(true) {
		s.log.Error("the store is away", "doing", what, "error", err)
	}
}

// back notes that a request was served.
func (s *Store) back() {
	if s.away.Load() && s.away.Swap(false) {
		s.log.Info("the store is back")
	}
}

func unavailable(what string, err error) error {
	coded := yurt.Errorf(yurt.CodeUnavailable, "%s: the store cannot be reached now; try again in a moment%w", what, yurt.Hidden(err))
	coded.RetryAfter = retryAfter + rand.N(retryAfter) //nolint:gosec // jitter, no secret
	return coded
}

// rest waits, or until ctx is done.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// connected runs work with a connection. When that broke, the others of the pool are of
// the same server, and are not used again either.
func (s *Store) connected(ctx context.Context, work func(conn *pgxpool.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err = work(conn); err != nil && conn.Conn().IsClosed() && ctx.Err() == nil {
		s.pool.Reset()
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// violates reports whether err says that a row would break a constraint.
func violates(err error, constraint string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.ConstraintName == constraint
}
