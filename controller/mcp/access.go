package mcp

import (
	"context"
	"net/http"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/audit"
)

// The operations of resources and tools in the policy: a tool's is this and its name.
const (
	operationPrefix = "mcp:"
	operationFile   = operationPrefix + "file"
	operationOutput = operationPrefix + "output"
)

// extraCaller names the caller among the data that the library keeps for a key.
const extraCaller = "yurt.caller"

// identified binds a connection to the API key that began it, so that a request with another key cannot use it. A connection
// lasts longer than its requests, and each call has the key of its own request.
func identified(next http.Handler) http.Handler {
	verify := func(ctx context.Context, _ string, _ *http.Request) (*sdkauth.TokenInfo, error) {
		caller, err := access.Caller(ctx)
		if err != nil {
			return nil, sdkauth.ErrInvalidToken
		}
		return &sdkauth.TokenInfo{UserID: caller.Identity(), Extra: map[string]any{extraCaller: caller}}, nil
	}
	bound := sdkauth.RequireBearerToken(verify, &sdkauth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if caller, ok := access.From(r.Context()); ok && caller.Identity() != "" {
			bound.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admit returns the context of a call by its caller, which ends when the caller's key is in force no longer, or an error when the
// caller may not do the operation.
func (s *Server) admit(ctx context.Context, extra *sdk.RequestExtra, operation string) (_ context.Context, done func(), err error) {
	if s.config.Decide == nil {
		return ctx, func() {}, nil
	}
	caller, known := access.From(ctx)
	if extra != nil && extra.TokenInfo != nil {
		caller, known = extra.TokenInfo.Extra[extraCaller].(*access.Principal)
	}
	done = func() {}
	if known {
		ctx, done = access.With(ctx, caller)
	}
	if err := s.config.Decide(ctx, operation); err != nil {
		e := entryOf(ctx, extra, operation)
		e.Decision, e.Detail = audit.Denied, err.Error()
		s.config.Audit.Note(e)
		done()
		return nil, nil, err
	}
	return ctx, done, nil
}
