package postgres

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/once"
)

// RequestStore keeps requests with idempotency keys in the database of a [Store].
type RequestStore struct{ *Store }

var _ once.Store = RequestStore{}

// Requests returns the requests of a store.
func Requests(store *Store) RequestStore { return RequestStore{store} }

// ClaimRequest implements once.Store. A statement whose answer was lost is run again: the claim tells whose the key is.
func (s RequestStore) ClaimRequest(ctx context.Context, r once.Record) (once.Record, error) {
	added, err := s.exec(ctx, "claiming an idempotency key", record.ClaimRequest, record.RequestValues(r)...)
	if err != nil {
		return once.Record{}, err
	}
	if added == 1 { // as of nearly all requests
		return r, nil
	}
	there, found, err := first(ctx, s.Store, "reading the request of an idempotency key", record.SelectRequest, []any{r.Key}, record.ScanRequest)
	if err == nil && !found {
		err = yurt.Errorf(yurt.CodeUnavailable, "another request with this idempotency key was refused at this moment; send the request again")
	}
	return there, err
}

// AnswerRequest implements once.Store.
func (s RequestStore) AnswerRequest(ctx context.Context, r once.Record, answer once.Answer) error {
	value, err := record.AnswerValue(answer)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "storing the answer to a request", record.AnswerRequest, value, r.Key, r.Claim)
	return err
}

// ReleaseRequest implements once.Store.
func (s RequestStore) ReleaseRequest(ctx context.Context, r once.Record) error {
	_, err := s.exec(ctx, "freeing an idempotency key", record.ReleaseRequest, r.Key, r.Claim)
	return err
}

// PurgeRequests implements once.Store.
func (s RequestStore) PurgeRequests(ctx context.Context, before time.Time, newest, limit int) (int, error) {
	return s.exec(ctx, "removing old requests", record.PurgeRequests, before.UnixNano(), newest, limit)
}
