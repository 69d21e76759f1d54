package postgres

import (
	"context"
	"time"

	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/meter"
)

// SampleStore keeps samples of use in the database of a [Store].
type SampleStore struct{ *Store }

var _ meter.Store = SampleStore{}

// Samples returns the samples of use of a store.
func Samples(store *Store) SampleStore { return SampleStore{store} }

// AddSamples implements meter.Store.
func (s SampleStore) AddSamples(ctx context.Context, samples []meter.Sample) error {
	if len(samples) == 0 {
		return nil
	}
	_, err := s.exec(ctx, "adding samples of use", record.InsertSamples(len(samples)), record.SampleValues(samples)...)
	return err
}

// Samples implements meter.Store.
func (s SampleStore) Samples(ctx context.Context, tenant, sessionID string, since time.Time) ([]meter.Sample, error) {
	return list(ctx, s.Store, "reading samples of use", record.SelectSamples, record.SamplesArgs(tenant, sessionID, since), record.ScanSample)
}

// PurgeSamples implements meter.Store.
func (s SampleStore) PurgeSamples(ctx context.Context, before time.Time, most int) (int, error) {
	return s.exec(ctx, "removing old samples of use", record.PurgeSamples, before.UnixNano(), most)
}
