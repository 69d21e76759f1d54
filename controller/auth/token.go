package auth

import (
	"context"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// The life of a session token.
const (
	DefaultTokenLife = time.Hour
	MaxTokenLife     = 24 * time.Hour
)

// tokenOperations are the operations that a session token may be for. Each is about the session that its path or its arguments name.
func tokenOperations() map[string]bool {
	operations := map[string]bool{}
	for _, operation := range []string{
		"get-session", "get-session-metrics", "list-session-events", "get-session-logs", "list-processes", "list-contexts",
		"get-status", "get-result", "list-executions", "get-execution", "watch-execution",
		"end-session", "pause-session", "resume-session", "set-session-timeout",
		"execute", "write-stdin", "signal-execution", "cancel-execution", "resize-execution", "open-terminal", "signal-process", "kill-process",
		"delete-context", "restart-context", "complete-in-context", "inspect-in-context",
		"put-file", "get-file", "delete-file", "change-file", "list-files", "archive-files", "watch-files",
		"/mcp", "mcp:get_logs", "mcp:output", "mcp:terminate_sandbox", "mcp:run_code", "mcp:run_command", "mcp:invoke_handler",
		"mcp:write_file", "mcp:read_file", "mcp:list_files", "mcp:upload_file", "mcp:download_file", "mcp:file",
	} {
		operations[operation] = true
	}
	return operations
}

// TokenRequest asks for a session token.
type TokenRequest struct {
	Scopes  []access.Scope
	Expires *yurt.Duration // nil: [DefaultTokenLife]
}

// CreateToken makes a token for a session that the caller reaches and that lives. It has no scope that the caller lacks, and ends at
// the latest with the caller's key, or with the session. The token itself is returned this once.
func (k *Keys) CreateToken(ctx context.Context, session yurt.Session, req TokenRequest) (access.Key, access.Secret, error) {
	caller, err := access.Caller(ctx)
	if err != nil {
		return access.Key{}, access.Secret{}, err
	}
	life := DefaultTokenLife
	if req.Expires != nil {
		life = req.Expires.Std()
	}
	if err := checkToken(caller, session, req.Scopes, life); err != nil {
		return access.Key{}, access.Secret{}, err
	}
	now := k.now().UTC().Round(0)
	expires := now.Add(life)
	if caller.Expires != nil && caller.Expires.Before(expires) {
		expires = *caller.Expires
	}
	token := access.Key{
		ID: access.NewKeyID(), Tenant: session.Tenant, Scopes: slices.Compact(slices.Sorted(slices.Values(req.Scopes))), CreatedAt: now, ExpiresAt: &expires,
		SessionID: session.ID, ParentID: caller.KeyID,
	}
	secret := access.GenerateToken()
	hash, _ := access.HashKey(secret.Reveal())
	return token, secret, k.store.AddKey(ctx, token, hash, access.MaxTokens)
}

func checkToken(caller *access.Principal, session yurt.Session, scopes []access.Scope, life time.Duration) error {
	if err := access.CheckScopes("scopes", scopes); err != nil {
		return err
	}
	if caller.Bound() {
		return yurt.Errorf(yurt.CodeForbidden, "a session token makes no tokens; ask for one with an API key")
	}
	if lacking, ok := caller.MayGive(scopes); !ok {
		return yurt.FieldErrorf(yurt.CodeForbidden, "scopes", "your key cannot give the scope %s to a session token; give scopes that the key has, out of %s", lacking, access.Names(access.TokenScopes()))
	}
	if life < time.Second || life > MaxTokenLife {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "expires_in", "%s is out of range; give from 1s to %dh, or leave the field out for %dh", life, int(MaxTokenLife.Hours()), int(DefaultTokenLife.Hours()))
	}
	if session.State.Ended() {
		return yurt.Errorf(yurt.CodeSessionEnded, "session %s has ended (%s: %s); create a new one", session.ID, session.State, session.Reason)
	}
	return nil
}
