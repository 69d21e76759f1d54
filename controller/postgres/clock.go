package postgres

import (
	"context"
	"time"

	"github.com/yurtrun/yurt/controller/internal/record"
)

// StoreClock implements controller.ClockStore: it is the server's.
func (s *Store) StoreClock(ctx context.Context) (now time.Time, behind time.Duration, err error) {
	const text = `SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint, (SELECT behind FROM clock)`
	_, err = list(ctx, s, "asking for the time", text, nil, func(row record.Row) (struct{}, error) {
		var nanos, by int64
		err := row.Scan(&nanos, &by)
		now, behind = record.FromNanos(nanos), time.Duration(by)
		return struct{}{}, err
	})
	return now, behind, err
}

// NoteBehind implements controller.ClockStore.
func (s *Store) NoteBehind(ctx context.Context, behind time.Duration) error {
	_, err := s.exec(ctx, "noting how far the clock is away", "UPDATE clock SET behind = ?", int64(behind))
	return err
}
