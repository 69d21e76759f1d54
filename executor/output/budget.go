package output

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// DefaultBudget is how many bytes the results that a node assembles may take together.
const DefaultBudget = 32 << 20

// Budget bounds what is held in memory to assemble results. The zero value is not ready for use.
type Budget struct {
	limit int64
	left  *semaphore.Weighted
}

// NewBudget returns a budget of so many bytes.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, left: semaphore.NewWeighted(limit)}
}

// Take waits until there are n more bytes, until give returns them. More than the whole budget is
// taken for all of it, so that what is too large comes alone and not never.
func (b *Budget) Take(ctx context.Context, n int64) (give func(), err error) {
	n = min(n, b.limit)
	if err := b.left.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { b.left.Release(n) }, nil
}
