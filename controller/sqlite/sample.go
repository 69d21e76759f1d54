package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/meter"
)

// SampleStore keeps samples of use in the file of a [Store].
type SampleStore struct{ *Store }

var _ meter.Store = SampleStore{}

// Samples returns the samples of use of a store.
func Samples(store *Store) SampleStore { return SampleStore{store} }

// AddSamples implements meter.Store.
func (s SampleStore) AddSamples(ctx context.Context, samples []meter.Sample) error {
	return s.write.transact(ctx, func(tx *transaction) error {
		one := record.InsertSamples(1) // one statement for any number of samples, since each text is prepared and kept
		for i := range samples {
			if _, err := tx.exec(one, record.SampleValues(samples[i:i+1])...); err != nil {
				return fmt.Errorf("adding a sample of use: %w", err)
			}
		}
		return nil
	}, func(bool) {})
}

// Samples implements meter.Store.
func (s SampleStore) Samples(ctx context.Context, tenant, sessionID string, since time.Time) ([]meter.Sample, error) {
	const what = "reading samples of use"
	return list(ctx, s.read, what, record.SelectSamples, record.SamplesArgs(tenant, sessionID, since), func(row record.Row) (meter.Sample, error) {
		sample, err := record.ScanSample(row)
		if err != nil {
			return sample, fmt.Errorf("%s: %w", what, err)
		}
		return sample, nil
	})
}

// PurgeSamples implements meter.Store.
func (s SampleStore) PurgeSamples(ctx context.Context, before time.Time, most int) (int, error) {
	result, err := s.write.exec(ctx, record.PurgeSamples, before.UnixNano(), most)
	if err != nil {
		return 0, fmt.Errorf("removing old samples of use: %w", err)
	}
	removed, err := result.RowsAffected()
	return int(removed), err
}
