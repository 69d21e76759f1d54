package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/internal/httpcode"
)

// entryOf returns an entry of the audit log about a request for an operation, without its outcome. Its caller is that of ctx, or of
// the request's own key.
func entryOf(ctx context.Context, extra *sdk.RequestExtra, operation string) audit.Entry {
	e := audit.Entry{At: time.Now(), Action: operation}
	caller, known := access.From(ctx)
	if extra != nil {
		e.Address, e.RequestID = extra.Header.Get(headerPeer), extra.Header.Get("X-Request-Id")
		if extra.TokenInfo != nil {
			caller, known = extra.TokenInfo.Extra[extraCaller].(*access.Principal)
		}
	}
	if known {
		e.By(caller)
	}
	return e
}

// record has the audit log note a call of a tool, unless the tool only reads. The caller calls end with the outcome. An error means
// that the log has no room for the entry: the tool must not be served.
func (s *Server) record(ctx context.Context, t tool, req *sdk.CallToolRequest) (end func(result json.RawMessage, err error), _ error) {
	if t.kind == reads {
		return func(json.RawMessage, error) {}, nil
	}
	pending, err := s.config.Audit.Begin(ctx)
	if err != nil {
		return nil, err
	}
	e := entryOf(ctx, req.Extra, operationPrefix+t.name)
	e.SessionID = sandboxIn(req.Params.Arguments)
	return func(result json.RawMessage, err error) {
		if e.SessionID == "" {
			e.SessionID = sandboxIn(result)
		}
		e.Decision, e.Status = audit.Allowed, http.StatusOK
		if err != nil {
			e.Status = httpcode.Of(yurt.CodeOf(err))
			e.Decision, e.Detail = audit.Outcome(e.Status), audit.ReasonOf(err)
		}
		pending.End(e)
	}, nil
}

// sandboxIn returns the id of the sandbox that the arguments or the result of a tool name; it is empty without one.
func sandboxIn(object json.RawMessage) string {
	var named struct {
		SandboxID string `json:"sandbox_id"`
	}
	if json.Unmarshal(object, &named) != nil || !strings.HasPrefix(named.SandboxID, yurt.SessionIDPrefix) || len(named.SandboxID) > maxSandboxID {
		return ""
	}
	return named.SandboxID
}

const maxSandboxID = 100 // bytes
