package auth

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
)

// Store keeps API keys. Package controller/storetest holds every implementation to this.
type Store interface {
	// AddKey adds a key. Of the keys of its tenant, less than most may be neither revoked nor expired; otherwise it is a
	// [yurt.CodeOverloaded] error. Session tokens are counted for each session, and apart from keys.
	AddKey(ctx context.Context, key access.Key, hash access.Hash, most int) error
	// KeysByHash returns the keys that have the hashes. Hashes of no key are left out, and so are tokens whose session has ended or
	// whose parent was revoked.
	KeysByHash(ctx context.Context, hashes []access.Hash) (map[access.Hash]access.Key, error)
	// Keys lists the keys of a tenant without its session tokens, newest first; those of all tenants when reach says so.
	Keys(ctx context.Context, reach Reach, before contract.Position, limit int) ([]access.Key, error)
	// RevokeKey revokes a key within reach. The first revocation stays. A key outside of it is a [yurt.CodeKeyNotFound] error.
	RevokeKey(ctx context.Context, reach Reach, id string, at time.Time) (access.Key, error)
	// UseKeys notes when keys were last used, by id. A time before the stored one is ignored.
	UseKeys(ctx context.Context, used map[string]time.Time) error
	// PurgeKeys removes the keys that were revoked or had expired before the time, and the tokens of sessions that have ended.
	PurgeKeys(ctx context.Context, before time.Time) error
}

// Reach says whose records an operation may touch. Its zero value reaches no record.
type Reach struct {
	tenant string
	all    bool
}

// ReachOf is the reach of a caller: its own tenant.
func ReachOf(caller *access.Principal) Reach { return Reach{tenant: caller.Tenant} }

// Tenant reaches the records of one tenant.
func Tenant(name string) Reach { return Reach{tenant: name} }

// Everywhere reaches the records of all tenants. It is for the operator and for work that no caller asked for.
func Everywhere() Reach { return Reach{all: true} }

// Tenant returns the one tenant that is reached; all is true when every tenant is.
func (r Reach) Tenant() (name string, all bool) { return r.tenant, r.all }

// KeyNotFound is the error for a key that a caller does not reach.
func KeyNotFound() error {
	return yurt.Errorf(yurt.CodeKeyNotFound, "there is no such API key; yurt key list shows those that there are")
}

// TooManyKeys is the error for a key of a tenant, or for a token of a session, that has as many as it may have.
func TooManyKeys(key access.Key, most int) error {
	if key.SessionID != "" {
		return yurt.Errorf(yurt.CodeOverloaded, "the session has %d tokens in force, which is the most; use one of them, or wait until one expires", most)
	}
	return yurt.Errorf(yurt.CodeOverloaded, "the tenant has %d API keys, which is the most; revoke some that are not used", most)
}
