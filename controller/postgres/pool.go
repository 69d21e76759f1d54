package postgres

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// SetPoolSize implements contract.PoolStore.
func (s *Store) SetPoolSize(ctx context.Context, template string, size yurt.PoolSize) error {
	_, err := s.exec(ctx, "keeping the size of a warm pool",
		"INSERT INTO pools (template, least, most) VALUES (?, ?, ?) ON CONFLICT (template) DO UPDATE SET least = excluded.least, most = excluded.most",
		template, size.Min, size.Max)
	return err
}

// UnsetPoolSize implements contract.PoolStore.
func (s *Store) UnsetPoolSize(ctx context.Context, template string) error {
	_, err := s.exec(ctx, "dropping the size of a warm pool", "DELETE FROM pools WHERE template = ?", template)
	return err
}

// PoolSizes implements contract.PoolStore.
func (s *Store) PoolSizes(ctx context.Context) (map[string]yurt.PoolSize, error) {
	type row struct {
		template string
		size     yurt.PoolSize
	}
	found, err := list(ctx, s, "listing the sizes of warm pools", "SELECT template, least, most FROM pools", nil, func(from record.Row) (r row, err error) {
		err = from.Scan(&r.template, &r.size.Min, &r.size.Max)
		return r, err
	})
	sizes := make(map[string]yurt.PoolSize, len(found))
	for _, r := range found {
		sizes[r.template] = r.size
	}
	return sizes, err
}
