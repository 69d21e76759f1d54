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
		Scopes    []access.Scope  `json:"scopes" nullable:"false" minItems:"1" enum:"sessions:read,sessions:write,sessions:execute,files" doc:"Scopes of the token. They must be among the caller's."`
		ExpiresIn *param.Duration `json:"expires_in,omitempty" doc:"Time until the token expires, 1s to 24h. It also expires with the caller's key. Default: 1h."`
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
			Description: "For a browser or an agent: the token gives access only to this session. It is sent like an API key; a WebSocket client can send it as the subprotocol yurt.token.TOKEN together with yurt. It expires with the session and with the caller's key.",
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
