package postgres

import (
	"context"
	"time"

	"github.com/yurtrun/yurt/controller/internal/record"
)

// StoreClock implements contract.ClockStore: the server's clock.
func (s *Store) StoreClock(ctx context.Context) (now time.Time, err error) {
	const text = `SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint`
	_, err = list(ctx, s, "asking for the time", text, nil, func(row record.Row) (struct{}, error) {
		var nanos int64
		err := row.Scan(&nanos)
		now = record.FromNanos(nanos)
		return struct{}{}, err
	})
	return now, err
}
