// Package storage opens the database of a server: PostgreSQL by its URL, or SQLite in a file.
package storage

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/meter"
	"github.com/yurtrun/yurt/controller/once"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/controller/quota"
	"github.com/yurtrun/yurt/controller/sqlite"
)

// Storage is an open database.
type Storage struct {
	Sessions contract.Store
	Keys     auth.Store
	Audit    audit.Store
	Quotas   quota.Store
	Samples  meter.Store
	Requests once.Store
	Close    func() error

	shown string // how an operator names it, without a password
}

// Open opens the database, and brings its schema up to date.
func Open(ctx context.Context, where string, logger *slog.Logger) (*Storage, error) {
	if postgres.IsURL(where) {
		store, err := postgres.Open(ctx, where, postgres.WithLogger(logger))
		if err != nil {
			return nil, err
		}
		return &Storage{Sessions: store, Keys: postgres.Keys(store), Audit: postgres.Audit(store), Quotas: postgres.Quotas(store), Samples: postgres.Samples(store), Requests: postgres.Requests(store), Close: store.Close, shown: "postgres://…"}, nil
	}
	store, err := sqlite.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	return &Storage{Sessions: store, Keys: sqlite.Keys(store), Audit: sqlite.Audit(store), Quotas: sqlite.Quotas(store), Samples: sqlite.Samples(store), Requests: sqlite.Requests(store), Close: store.Close, shown: where}, nil
}

// MakeRoom makes the directory of a database in a file, as the first start of its server does. Databases of other kinds need no directory.
func MakeRoom(where string) error {
	if where == "" || postgres.IsURL(where) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(where), 0o700); err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--store", "making the directory of the database: %w", err)
	}
	return nil
}

// NeedKey refuses a database without an operator's key: a server that asks for keys would answer no request, and no key could be
// made by one.
func (s *Storage) NeedKey(ctx context.Context) error {
	keys, err := s.Keys.Keys(ctx, auth.Tenant(access.DefaultTenant), contract.Position{}, access.MaxKeys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		holder := access.Principal{Tenant: key.Tenant, Scopes: key.Scopes}
		if key.RevokedAt == nil && holder.Operates() {
			return nil
		}
	}
	return yurt.Errorf(yurt.CodeInvalidArgument, "the server asks for API keys, and its database has no key of an operator. Make the first one with: yurt key create --store %s --tenant %s --scope %s",
		s.shown, access.DefaultTenant, access.Admin)
}
