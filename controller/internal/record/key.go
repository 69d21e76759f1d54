package record

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
)

const (
	// KeyColumns are the columns of an API key, in the order of [KeyValues] and [ScanKey].
	KeyColumns = "hash, id, tenant, name, scopes, created_at, expires_at, used_at, revoked_at, session_id, parent_id"
	// InsertKey adds an API key.
	InsertKey = "INSERT INTO api_keys (" + KeyColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	// CountKeys counts the keys of a tenant and of no session that are in force at a time, or the tokens of a session.
	CountKeys = "SELECT count(*) FROM api_keys WHERE tenant = ? AND session_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"
	// KeyLives leaves out tokens whose session has ended, or whose parent is revoked or gone.
	KeyLives = ` AND (session_id = '' OR EXISTS (SELECT 1 FROM sessions WHERE sessions.id = api_keys.session_id AND sessions.ended_at IS NULL))
		AND (parent_id = '' OR EXISTS (SELECT 1 FROM api_keys AS parent WHERE parent.id = api_keys.parent_id AND parent.revoked_at IS NULL))`
	// PurgeKeys removes keys that are out of force since before a time, which is given twice, and tokens of sessions that have ended.
	PurgeKeys = `DELETE FROM api_keys WHERE revoked_at < ? OR expires_at < ?
		OR session_id <> '' AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = api_keys.session_id AND sessions.ended_at IS NULL)`
)

// KeyValues returns the stored values of an API key.
func KeyValues(key access.Key, hash access.Hash) []any {
	scopes := make([]string, len(key.Scopes))
	for i, scope := range key.Scopes {
		scopes[i] = string(scope)
	}
	return []any{
		hash[:], key.ID, key.Tenant, key.Name, strings.Join(scopes, " "), key.CreatedAt.UnixNano(),
		nanos(key.ExpiresAt), nanos(key.UsedAt), nanos(key.RevokedAt), key.SessionID, key.ParentID,
	}
}

// KeyRow is an API key with its hash.
type KeyRow struct {
	Hash access.Hash
	Key  access.Key
}

// ScanKey reads the columns of an API key.
func ScanKey(row Row) (KeyRow, error) {
	var (
		found                  KeyRow
		hash                   []byte
		scopes                 string
		created                int64
		expires, used, revoked sql.Null[int64]
	)
	key := &found.Key
	if err := row.Scan(&hash, &key.ID, &key.Tenant, &key.Name, &scopes, &created, &expires, &used, &revoked, &key.SessionID, &key.ParentID); err != nil {
		return KeyRow{}, err
	}
	if copy(found.Hash[:], hash) != len(found.Hash) {
		return KeyRow{}, fmt.Errorf("reading the API key %s: its hash has %d bytes", key.ID, len(hash))
	}
	for _, scope := range strings.Fields(scopes) {
		key.Scopes = append(key.Scopes, access.Scope(scope))
	}
	key.CreatedAt = FromNanos(created)
	key.ExpiresAt, key.UsedAt, key.RevokedAt = fromNull(expires), fromNull(used), fromNull(revoked)
	return found, nil
}

// Reach limits the rows to the tenant of the caller, unless its reach is all tenants.
func (c *Conditions) Reach(reach auth.Reach) {
	if tenant, all := reach.Tenant(); !all {
		c.Add("tenant = ? AND tenant <> ''", tenant)
	}
}

// RevokeKey returns the statement that revokes a key, which keeps the time of the first revocation.
func RevokeKey(reach auth.Reach, id string, at time.Time) (text string, args []any) {
	var where Conditions
	where.Add("id = ?", id)
	where.Reach(reach)
	text = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?)" + where.SQL() + " RETURNING " + KeyColumns
	return text, append([]any{at.UnixNano()}, where.Args...)
}
