package sqlite

import (
	"context"
	"fmt"

	"github.com/yurtrun/yurt"
)

// SetPoolSize implements controller.PoolStore.
func (s *Store) SetPoolSize(ctx context.Context, template string, size yurt.PoolSize) error {
	_, err := s.write.ExecContext(ctx,
		"INSERT INTO pools (template, least, most) VALUES (?, ?, ?) ON CONFLICT (template) DO UPDATE SET least = excluded.least, most = excluded.most",
		template, size.Min, size.Max)
	if err != nil {
		return fmt.Errorf("keeping the size of a warm pool: %w", err)
	}
	return nil
}

// UnsetPoolSize implements controller.PoolStore.
func (s *Store) UnsetPoolSize(ctx context.Context, template string) error {
	if _, err := s.write.ExecContext(ctx, "DELETE FROM pools WHERE template = ?", template); err != nil {
		return fmt.Errorf("dropping the size of a warm pool: %w", err)
	}
	return nil
}

// PoolSizes implements controller.PoolStore.
func (s *Store) PoolSizes(ctx context.Context) (map[string]yurt.PoolSize, error) {
	rows, err := s.read.QueryContext(ctx, selectPools)
	if err != nil {
		return nil, fmt.Errorf("listing the sizes of warm pools: %w", err)
	}
	defer rows.Close()
	sizes := map[string]yurt.PoolSize{}
	for rows.Next() {
		var template string
		var size yurt.PoolSize
		if err := rows.Scan(&template, &size.Min, &size.Max); err != nil {
			return nil, fmt.Errorf("reading the size of a warm pool: %w", err)
		}
		sizes[template] = size
	}
	return sizes, rows.Err()
}

const selectPools = "SELECT template, least, most FROM pools"
