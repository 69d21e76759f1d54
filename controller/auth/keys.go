package auth

import (
	"context"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
)

// maxKeyLife bounds the time until a key expires, so that the sum is a date that every client can read.
const maxKeyLife = 10 * 365 * 24 * time.Hour

// Keys makes, lists and revokes API keys. It is safe for concurrent use.
type Keys struct {
	store Store
	now   func() time.Time
}

// NewKeys returns the keys of a store. A nil now is the machine's clock.
func NewKeys(store Store, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	return &Keys{store: store, now: now}
}

// KeyRequest asks for a key.
type KeyRequest struct {
	Tenant  string // empty: the caller's
	Name    string // may be empty
	Scopes  []access.Scope
	Expires *yurt.Duration // nil: never
}

// Create makes a key of the caller's tenant, or of any tenant for the operator. The key itself is returned this once.
func (k *Keys) Create(ctx context.Context, req KeyRequest) (access.Key, access.Secret, error) {
	caller, err := access.Caller(ctx)
	if err != nil {
		return access.Key{}, access.Secret{}, err
	}
	if req.Tenant == "" {
		req.Tenant = caller.Tenant
	}
	if err := k.check(caller, req); err != nil {
		return access.Key{}, access.Secret{}, err
	}
	now := k.now().UTC().Round(0)
	key := access.Key{ID: access.NewKeyID(), Tenant: req.Tenant, Name: req.Name, Scopes: slices.Compact(slices.Sorted(slices.Values(req.Scopes))), CreatedAt: now}
	if req.Expires != nil {
		at := now.Add(req.Expires.Std())
		key.ExpiresAt = &at
	}
	secret := access.GenerateKey()
	hash, _ := access.HashKey(secret.Reveal())
	return key, secret, k.store.AddKey(ctx, key, hash, access.MaxKeys)
}

func (k *Keys) check(caller *access.Principal, req KeyRequest) error {
	if err := access.CheckTenant("tenant", req.Tenant); err != nil {
		return err
	}
	if req.Tenant != caller.Tenant && !caller.Operates() {
		return yurt.FieldErrorf(yurt.CodeForbidden, "tenant", "your key makes keys of the tenant %s alone; leave the field out", caller.Tenant)
	}
	if err := access.CheckScopes("scopes", req.Scopes); err != nil {
		return err
	}
	if req.Tenant != access.DefaultTenant && (slices.Contains(req.Scopes, access.Pools) || slices.Contains(req.Scopes, access.Nodes)) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "scopes", "warm pools and nodes belong to the tenant %s; leave %s and %s out", access.DefaultTenant, access.Pools, access.Nodes)
	}
	if req.Name != "" {
		if err := yurt.ValidateName("name", req.Name); err != nil {
			return err
		}
	}
	if req.Expires != nil && (req.Expires.Std() < time.Second || req.Expires.Std() > maxKeyLife) {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "expires_in", "give from 1s to %dh, or leave the field out for a key that does not expire", int(maxKeyLife.Hours()))
	}
	return nil
}

// List lists the keys of the caller's tenant, newest first. The operator may name another tenant, or list those of all with
// "*".
func (k *Keys) List(ctx context.Context, tenant string, before contract.Position, limit int) ([]access.Key, error) {
	caller, err := access.Caller(ctx)
	if err != nil {
		return nil, err
	}
	reach := ReachOf(caller)
	switch {
	case tenant == "" || tenant == caller.Tenant:
	case !caller.Operates():
		return nil, yurt.FieldErrorf(yurt.CodeForbidden, "tenant", "your key lists the keys of the tenant %s alone; leave the field out", caller.Tenant)
	case tenant == "*":
		reach = Everywhere()
	default:
		reach = Tenant(tenant)
	}
	return k.store.Keys(ctx, reach, before, limit)
}

// Revoke revokes a key of the caller's tenant, or any key for the operator. It is in force at every controller within 5 s.
func (k *Keys) Revoke(ctx context.Context, id string) (access.Key, error) {
	caller, err := access.Caller(ctx)
	if err != nil {
		return access.Key{}, err
	}
	if !yurt.ValidID(access.KeyIDPrefix, id) {
		return access.Key{}, KeyNotFound()
	}
	reach := ReachOf(caller)
	if caller.Operates() {
		reach = Everywhere()
	}
	return k.store.RevokeKey(ctx, reach, id, k.now().UTC().Round(0))
}
