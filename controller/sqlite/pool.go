package sqlite

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/yurtrun/yurt"
)

// poolSizes keeps the sizes in memory once they were read, since each create of a session
// asks for them. It is locked while they are read or written.
type poolSizes struct {
	mu    sync.Mutex
	known map[string]yurt.PoolSize // nil: not read since they changed
}

// SetPoolSize implements contract.PoolStore.
func (s *Store) SetPoolSize(ctx context.Context, template string, size yurt.PoolSize) error {
	s.pools.mu.Lock()
	defer s.pools.mu.Unlock()
	s.pools.known = nil
	_, err := s.write.exec(ctx,
		"INSERT INTO pools (template, least, most) VALUES (?, ?, ?) ON CONFLICT (template) DO UPDATE SET least = excluded.least, most = excluded.most",
		template, size.Min, size.Max)
	if err != nil {
		return fmt.Errorf("keeping the size of a warm pool: %w", err)
	}
	return nil
}

// UnsetPoolSize implements contract.PoolStore.
func (s *Store) UnsetPoolSize(ctx context.Context, template string) error {
	s.pools.mu.Lock()
	defer s.pools.mu.Unlock()
	s.pools.known = nil
	if _, err := s.write.exec(ctx, "DELETE FROM pools WHERE template = ?", template); err != nil {
		return fmt.Errorf("dropping the size of a warm pool: %w", err)
	}
	return nil
}

// PoolSizes implements contract.PoolStore.
func (s *Store) PoolSizes(ctx context.Context) (map[string]yurt.PoolSize, error) {
	s.pools.mu.Lock()
	defer s.pools.mu.Unlock()
	if s.pools.known != nil {
		return maps.Clone(s.pools.known), nil
	}
	rows, err := s.read.QueryContext(ctx, "SELECT template, least, most FROM pools")
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
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("listing the sizes of warm pools: %w", err)
	}
	s.pools.known = sizes
	return maps.Clone(sizes), nil
}
