package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// KeyStore keeps API keys in the database of a [Store].
type KeyStore struct{ *Store }

var _ auth.Store = KeyStore{}

// Keys returns the API keys of a store.
func Keys(store *Store) KeyStore { return KeyStore{store} }

// AddKey implements auth.Store.
func (s KeyStore) AddKey(ctx context.Context, key access.Key, hash access.Hash, most int) error {
	var there int
	read := func(reads *pgx.Batch) {
		reads.Queue("LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE")
		queue(reads, record.CountKeys, key.Tenant, key.SessionID, key.CreatedAt.UnixNano()).QueryRow(func(row pgx.Row) error { return row.Scan(&there) })
	}
	return s.transact(ctx, "adding an API key", read, func(writes *pgx.Batch) error {
		if there >= most {
			return auth.TooManyKeys(key, most)
		}
		queue(writes, record.InsertKey, record.KeyValues(key, hash)...)
		return nil
	})
}

// KeysByHash implements auth.Store.
func (s KeyStore) KeysByHash(ctx context.Context, hashes []access.Hash) (map[access.Hash]access.Key, error) {
	wanted := make([][]byte, len(hashes))
	for i := range hashes {
		wanted[i] = hashes[i][:]
	}
	rows, err := list(ctx, s.Store, "reading API keys", "SELECT "+record.KeyColumns+" FROM api_keys WHERE hash = ANY(?)"+record.KeyLives, []any{wanted}, record.ScanKey)
	found := map[access.Hash]access.Key{}
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
	text := "SELECT " + record.KeyColumns + " FROM api_keys" + where.SQL() + record.NewestFirst + record.Limit(limit)
	return list(ctx, s.Store, "listing API keys", text, where.Args, scanKey)
}

func scanKey(row record.Row) (access.Key, error) {
	found, err := record.ScanKey(row)
	return found.Key, err
}

// RevokeKey implements auth.Store.
func (s KeyStore) RevokeKey(ctx context.Context, reach auth.Reach, id string, at time.Time) (access.Key, error) {
	text, args := record.RevokeKey(reach, id, at)
	key, ok, err := first(ctx, s.Store, "revoking an API key", text, args, scanKey)
	if err == nil && !ok {
		err = auth.KeyNotFound()
	}
	return key, err
}

// UseKeys implements auth.Store.
func (s KeyStore) UseKeys(ctx context.Context, used map[string]time.Time) error {
	ids, times := make([]string, 0, len(used)), make([]int64, 0, len(used))
	for id, at := range used {
		ids, times = append(ids, id), append(times, at.UnixNano())
	}
	_, err := s.exec(ctx, "noting the use of API keys",
		"UPDATE api_keys SET used_at = seen.at FROM unnest(?::text[], ?::bigint[]) AS seen (id, at) WHERE api_keys.id = seen.id AND coalesce(used_at, 0) < seen.at", ids, times)
	return err
}

// PurgeKeys implements auth.Store.
func (s KeyStore) PurgeKeys(ctx context.Context, before time.Time) error {
	_, err := s.exec(ctx, "removing old API keys", record.PurgeKeys, before.UnixNano(), before.UnixNano())
	return err
}
