package accounts

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

// Sessions finds the session that a token is for. A controller does.
type Sessions interface {
	Session(ctx context.Context, id string) (yurt.Session, error)
}

type (
	createTokenBody struct {
		Scopes    []access.Scope  `json:"scopes" nullable:"false" minItems:"1" enum:"sessions:read,sessions:write,sessions:execute,files" doc:"What the token lets its holder do, of what the caller may do."`
		ExpiresIn *param.Duration `json:"expires_in,omitempty" doc:"After which it opens no door, 1s to 24h, and not after the caller's key. Default 1h."`
	}
	createTokenInput struct {
		httpapi.SessionParams
		httpapi.JSONBody[createTokenBody]
	}
)

// Tokens returns the operation that makes session tokens.
func Tokens(keys *auth.Keys, sessions Sessions) httpapi.Extension {
	return func(api *httpapi.API) {
		httpapi.Register(api, huma.Operation{
			OperationID: "create-token", Method: http.MethodPost, Path: "/sessions/{id}/tokens", DefaultStatus: http.StatusCreated,
			Summary: "Create a token for one session", Tags: []string{httpapi.TagKeys},
			Description: "For a browser or an agent: it reaches this session alone. It is sent as an API key is; a WebSocket may offer it as the subprotocol yurt.token.TOKEN, beside yurt. It ends with the session and with the caller's key.",
		}, func(ctx context.Context, in *createTokenInput) (*createKeyOutput, error) {
			session, err := sessions.Session(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			req := auth.TokenRequest{Scopes: in.Value().Scopes}
			if in.Value().ExpiresIn != nil {
				expires := yurt.Duration(*in.Value().ExpiresIn)
				req.Expires = &expires
			}
			token, secret, err := keys.CreateToken(ctx, session, req)
			if err != nil {
				return nil, err
			}
			return shownOnce(token, secret), nil
		})
		httpapi.DocumentBody[createTokenBody](api, http.MethodPost, "/sessions/{id}/tokens", "CreateToken", "A token that runs code for ten minutes",
			map[string]any{"scopes": []access.Scope{access.SessionsRead, access.SessionsExecute}, "expires_in": "10m"})
	}
}
