package yurtclient

import (
	"context"
	"net/http"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// WithAPIKey makes the client send an API key with each request.
func WithAPIKey(key string) Option { return func(c *Client) { c.key = access.NewSecret(key) } }

// checkKey refuses a key that no header can have. The error does not tell the key.
func checkKey(key access.Secret) error {
	for _, letter := range []byte(key.Reveal()) {
		if letter <= ' ' || letter > '~' {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "api_key", "it has a blank, a line break or another character that no key has; give it as it was shown")
		}
	}
	return nil
}

// authorization returns the header that has an API key; it is empty for a client without one.
func authorization(key access.Secret) http.Header {
	if key.Reveal() == "" {
		return http.Header{}
	}
	return http.Header{"Authorization": {"Bearer " + key.Reveal()}}
}

// CreateKeyRequest asks for an API key.
type CreateKeyRequest struct {
	Tenant    string         `json:"tenant,omitempty"` // empty: that of the client's key
	Name      string         `json:"name,omitempty"`
	Scopes    []access.Scope `json:"scopes"`
	ExpiresIn *yurt.Duration `json:"expires_in,omitempty"` // nil: never
}

// Keys manages the API keys of a server, for a client whose key has the scope admin.
type Keys struct{ client *Client }

// Keys returns the API keys of the server.
func (c *Client) Keys() Keys { return Keys{c} }

// Create makes a key. The server tells the key itself this once.
func (k Keys) Create(ctx context.Context, req CreateKeyRequest) (access.Key, access.Secret, error) {
	return k.create(ctx, apiPrefix+"/keys", req)
}

func (k Keys) create(ctx context.Context, path string, req any) (access.Key, access.Secret, error) {
	what, err := postJSON(path, req)
	if err != nil {
		return access.Key{}, access.Secret{}, err
	}
	var made struct {
		access.Key
		Secret string `json:"key"`
	}
	err = k.client.roundTrip(ctx, what, &made)
	return made.Key, access.NewSecret(made.Secret), err
}

// CreateTokenRequest asks for a token for one session.
type CreateTokenRequest struct {
	Scopes    []access.Scope `json:"scopes"`               // of those that the client's key has
	ExpiresIn *yurt.Duration `json:"expires_in,omitempty"` // nil: an hour; at most 24 h
}

// CreateToken makes a token for one session, for a browser or an agent, which sends it as an API key. It ends with the session and with
// the client's key. The client's key needs the scopes that it gives, and not the scope admin.
func (k Keys) CreateToken(ctx context.Context, sessionID string, req CreateTokenRequest) (access.Key, access.Secret, error) {
	return k.create(ctx, apiPrefix+"/sessions/"+segment(sessionID)+"/tokens", req)
}

// List lists the keys of a tenant, newest first: of that of the client's key when tenant is empty. An operator may name another
// one, or "*" for all.
func (k Keys) List(ctx context.Context, tenant string) ([]access.Key, error) {
	query := queryOf(map[string]string{"tenant": tenant})
	setLimit(query, maxPage)
	return whole[access.Key](ctx, k.client, apiPrefix+"/keys", "keys", query, 0)
}

// Revoke revokes a key by its id. Each controller refuses it within 5 s.
func (k Keys) Revoke(ctx context.Context, id string) (access.Key, error) {
	var key access.Key
	err := k.client.roundTrip(ctx, call{method: http.MethodDelete, path: apiPrefix + "/keys/" + segment(id)}, &key)
	return key, err
}
