package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/once"
)

// RequestStore keeps requests with idempotency keys in the file of a [Store].
type RequestStore struct{ *Store }

var _ once.Store = RequestStore{}

// Requests returns the requests of a store.
func Requests(store *Store) RequestStore { return RequestStore{store} }

// ClaimRequest implements once.Store.
func (s RequestStore) ClaimRequest(ctx context.Context, r once.Record) (once.Record, error) {
	result, err := s.write.exec(ctx, record.ClaimRequest, record.RequestValues(r)...)
	if err != nil {
		return once.Record{}, fmt.Errorf("claiming an idempotency key: %w", err)
	}
	if added, err := result.RowsAffected(); err == nil && added == 1 { // as of nearly all requests
		return r, nil
	}
	there, err := record.ScanRequest(s.read.QueryRowContext(ctx, record.SelectRequest, r.Key))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return once.Record{}, yurt.Errorf(yurt.CodeUnavailable, "another request with this idempotency key was refused at this moment; send the request again")
	case err != nil:
		return once.Record{}, fmt.Errorf("reading the request of an idempotency key: %w", err)
	}
	return there, nil
}

// AnswerRequest implements once.Store.
func (s RequestStore) AnswerRequest(ctx context.Context, r once.Record, answer once.Answer) error {
	value, err := record.AnswerValue(answer)
	if err != nil {
		return err
	}
	if _, err := s.write.exec(ctx, record.AnswerRequest, value, r.Key, r.Claim); err != nil {
		return fmt.Errorf("storing the answer to a request: %w", err)
	}
	return nil
}

// ReleaseRequest implements once.Store.
func (s RequestStore) ReleaseRequest(ctx context.Context, r once.Record) error {
	if _, err := s.write.exec(ctx, record.ReleaseRequest, r.Key, r.Claim); err != nil {
		return fmt.Errorf("freeing an idempotency key: %w", err)
	}
	return nil
}

// PurgeRequests implements once.Store.
func (s RequestStore) PurgeRequests(ctx context.Context, before time.Time, newest, limit int) (int, error) {
	result, err := s.write.exec(ctx, record.PurgeRequests, before.UnixNano(), newest, limit)
	if err != nil {
		return 0, fmt.Errorf("removing old requests: %w", err)
	}
	removed, err := result.RowsAffected()
	return int(removed), err
}
