package access

import (
	"crypto/rand"
	"strings"
	"time"
)

// KeyIDPrefix begins the ids of API keys, which are no secrets.
const KeyIDPrefix = "key_"

// MaxKeys is how many keys a tenant may have that are not revoked.
const MaxKeys = 1000

// Key is an API key as it is shown: without the key itself.
type Key struct {
	ID        string     `json:"id"`
	Tenant    string     `json:"tenant"`
	Name      string     `json:"name,omitempty" doc:"A label that tells people the purpose of the key."`
	Scopes    []Scope    `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Time at which the key expires; absent if it does not expire."`
	UsedAt    *time.Time `json:"last_used_at,omitempty" doc:"Time of the last use, to the minute; absent for an unused key."`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	SessionID string     `json:"session_id,omitempty" doc:"Of a session token: id of its session."`
	ParentID  string     `json:"parent_id,omitempty" doc:"Of a session token: id of the API key that created it. The token expires with that key."`
}

// NewKeyID returns a fresh id of a key.
func NewKeyID() string { return KeyIDPrefix + strings.ToLower(rand.Text()) }

// Refused says why the key opens no door at a time; it is empty for a key that is in force.
func (k Key) Refused(now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "the API key was revoked"
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return "the API key has expired"
	default:
		return ""
	}
}
