package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// KeyStore keeps API keys in the file of a [Store].
type KeyStore struct{ *Store }

var _ auth.Store = KeyStore{}

// Keys returns the API keys of a store.
func Keys(store *Store) KeyStore { return KeyStore{store} }

// AddKey implements auth.Store.
func (s KeyStore) AddKey(ctx context.Context, key access.Key, hash access.Hash, most int) error {
	return s.write.transact(ctx, func(tx *transaction) error {
		var there int
		if err := tx.row(record.CountKeys, key.Tenant, key.SessionID, key.CreatedAt.UnixNano()).Scan(&there); err != nil {
			return fmt.Errorf("counting API keys: %w", err)
		}
		if there >= most {
			return auth.TooManyKeys(key, most)
		}
		if _, err := tx.exec(record.InsertKey, record.KeyValues(key, hash)...); err != nil {
			return fmt.Errorf("adding an API key: %w", err)
		}
		return nil
	}, func(bool) {})
}

// KeysByHash implements auth.Store.
func (s KeyStore) KeysByHash(ctx context.Context, hashes []access.Hash) (map[access.Hash]access.Key, error) {
	found := map[access.Hash]access.Key{}
	if len(hashes) == 0 {
		return found, nil
	}
	args := make([]any, len(hashes))
	for i := range hashes {
		args[i] = hashes[i][:]
	}
	rows, err := s.queryKeys(ctx, " WHERE hash IN (?"+strings.Repeat(", ?", len(hashes)-1)+")"+record.KeyLives, args...)
	for _, row := range rows {
		found[row.Hash] = row.Key
	}
	return found, err
}

// Keys implements auth.Store.
func (s KeyStore) Keys(ctx context.Context, reach auth.Reach, before contract.Position, limit int) ([]access.Key, error) {
	var where record.Conditions
	where.Reach(reach)
	where.Add("session_id = ''")
	where.Before(before)
	rows, err := s.queryKeys(ctx, where.SQL()+record.NewestFirst+record.Limit(limit), where.Args...)
	var list []access.Key
	for _, row := range rows {
		list = append(list, row.Key)
	}
	return list, err
}

func (s KeyStore) queryKeys(ctx context.Context, tail string, args ...any) ([]record.KeyRow, error) {
	text := "SELECT " + record.KeyColumns + " FROM api_keys" + tail
	return list(ctx, s.read, "reading API keys", text, args, func(row record.Row) (record.KeyRow, error) {
		key, err := record.ScanKey(row)
		if err != nil {
			return key, fmt.Errorf("reading an API key: %w", err)
		}
		return key, nil
	})
}

// RevokeKey implements auth.Store.
func (s KeyStore) RevokeKey(ctx context.Context, reach auth.Reach, id string, at time.Time) (access.Key, error) {
	var row record.KeyRow
	err := s.write.transact(ctx, func(tx *transaction) (err error) {
		tx.ends = true
		text, args := record.RevokeKey(reach, id, at)
		row, err = record.ScanKey(tx.row(text, args...))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return auth.KeyNotFound()
		case err != nil:
			return fmt.Errorf("revoking an API key: %w", err)
		}
		return nil
	}, func(bool) {})
	return row.Key, err
}

// UseKeys implements auth.Store.
func (s KeyStore) UseKeys(ctx context.Context, used map[string]time.Time) error {
	return s.write.transact(ctx, func(tx *transaction) error {
		for id, at := range used {
			if _, err := tx.exec("UPDATE api_keys SET used_at = ?1 WHERE id = ?2 AND coalesce(used_at, 0) < ?1", at.UnixNano(), id); err != nil {
				return fmt.Errorf("noting the use of an API key: %w", err)
			}
		}
		return nil
	}, func(bool) {})
}

// PurgeKeys implements auth.Store.
func (s KeyStore) PurgeKeys(ctx context.Context, before time.Time) error {
	if _, err := s.write.exec(ctx, record.PurgeKeys, before.UnixNano(), before.UnixNano()); err != nil {
		return fmt.Errorf("removing old API keys: %w", err)
	}
	return nil
}
