package output

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// DefaultBudget is how many bytes the results that a node assembles may take together.
const DefaultBudget = 32 << 20

// Budget bounds the memory in which results are assembled. The zero value is not ready for use.
type Budget struct {
	limit int64
	left  *semaphore.Weighted
}

// NewBudget returns a budget of so many bytes.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, left: semaphore.NewWeighted(limit)}
}

// Take waits until there are n more bytes, until give returns them. A request for more than the whole
// budget takes all of it: so a result that is too large is assembled alone, and does not wait forever.
func (b *Budget) Take(ctx context.Context, n int64) (give func(), err error) {
	n = min(n, b.limit)
	if err := b.left.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { b.left.Release(n) }, nil
}
