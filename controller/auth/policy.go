package auth

import (
	"context"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// Policy maps each operation to the scopes of which its caller needs one. The list of an operation that needs no key is empty.
type Policy map[string][]access.Scope

// NewPolicy returns the table. Its rows are the operations of the OpenAPI document by id, the tools and resources of MCP behind
// "mcp:", and by their paths the pages, MCP and the operations of the older API.
func NewPolicy() Policy {
	p := Policy{}
	p.add(nil, "health", "ready", "version", "/workspace/se/healthy")
	p.add([]access.Scope{access.SessionsRead},
		"list-sessions", "get-session", "get-session-metrics", "list-session-events", "get-session-logs", "list-processes", "list-contexts",
		"get-status", "get-result", "list-executions", "get-execution", "watch-execution", "list-containers", "get-container",
		"get-container-health", "get-container-logs",
		"mcp:list_sandboxes", "mcp:get_logs", "mcp:output")
	p.add([]access.Scope{access.SessionsWrite},
		"create-session", "end-session", "pause-session", "resume-session", "set-session-timeout",
		"mcp:create_sandbox", "mcp:terminate_sandbox", "/workspace/se/session/{id}")
	p.add([]access.Scope{access.SessionsExecute},
		"execute", "write-stdin", "signal-execution", "cancel-execution", "resize-execution", "open-terminal", "signal-process", "kill-process",
		"delete-context", "restart-context", "complete-in-context", "inspect-in-context",
		"mcp:run_code", "mcp:run_command", "mcp:invoke_handler", "/workspace/se/execute_code/{id}", "/workspace/se/execute/{id}")
	p.add([]access.Scope{access.Files},
		"put-file", "get-file", "delete-file", "change-file", "list-files", "archive-files", "watch-files",
		"mcp:write_file", "mcp:read_file", "mcp:list_files", "mcp:upload_file", "mcp:download_file", "mcp:file", "/workspace/se/upload/{id}", "/workspace/se/download/{id}/{filename...}", "/workspace/se/files/{id}")
	p.add([]access.Scope{access.Templates, access.SessionsRead}, "list-templates", "get-template", "list-runtimes", "mcp:list_templates")
	p.add([]access.Scope{access.Templates}, "create-template", "replace-template", "delete-template", "push-templates", "prepare-template")
	p.add([]access.Scope{access.Pools}, "list-pools", "get-pool", "set-pool", "unset-pool")
	p.add([]access.Scope{access.Nodes}, "list-nodes", "drain-node", "undrain-node", "/metrics")
	p.add([]access.Scope{access.Admin, access.SessionsRead}, "get-usage", "list-usage-samples")
	p.add([]access.Scope{access.Admin}, "list-tenants", "set-quotas", "create-key", "list-keys", "revoke-key", "list-audit")
	p.add(access.TokenScopes(), "create-token")
	p.add(access.Scopes(), "/mcp") // each tool needs a scope of its own
	return p
}

func (p Policy) add(scopes []access.Scope, operations ...string) {
	for _, operation := range operations {
		p[operation] = scopes
	}
}

// Decide returns nil when the caller of a context may do an operation, and why not otherwise.
func (p Policy) Decide(ctx context.Context, operation string) error {
	scopes, known := p[operation]
	if !known {
		return yurt.Errorf(yurt.CodeForbidden, "this server knows no scope for the operation, and so refuses it")
	}
	if len(scopes) == 0 {
		return nil
	}
	caller, err := access.Caller(ctx)
	if err != nil {
		return err
	}
	if caller.Bound() && !tokenOperations()[operation] {
		return yurt.Errorf(yurt.CodeForbidden, "a session token is for its session alone; use an API key for this")
	}
	return Need(caller, scopes...)
}

// Need returns nil when the caller has one of the scopes.
func Need(caller *access.Principal, scopes ...access.Scope) error {
	var names []string
	for _, scope := range scopes {
		if caller.May(scope) {
			return nil
		}
		names = append(names, string(scope))
	}
	if caller.Bound() {
		return yurt.Errorf(yurt.CodeForbidden, "the session token lacks the scope %s; ask its creator for a token with it", strings.Join(names, " or "))
	}
	if caller.Subject != "" {
		return yurt.Errorf(yurt.CodeForbidden, "the token does not have the scope %s; ask its issuer, or the operator of this server, for it", strings.Join(names, " or "))
	}
	return yurt.Errorf(yurt.CodeForbidden, "the API key lacks the scope %s; ask for a key with it", strings.Join(names, " or "))
}
