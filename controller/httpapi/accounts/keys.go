package accounts

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/httpapi"
	"github.com/yurtrun/yurt/controller/httpapi/internal/paging"
	"github.com/yurtrun/yurt/controller/httpapi/internal/param"
)

type (
	createKeyBody struct {
		Tenant    string          `json:"tenant,omitempty" maxLength:"40" pattern:"^([a-z0-9][a-z0-9-]*)?$" doc:"Tenant of the key. Default: the caller's tenant; an operator can name another."`
		Name      string          `json:"name,omitempty" maxLength:"256" doc:"A label that tells people the purpose of the key."`
		Scopes    []access.Scope  `json:"scopes" nullable:"false" minItems:"1" enum:"sessions:read,sessions:write,sessions:execute,files,templates,pools,nodes,admin" doc:"Scopes: the operations that the key allows."`
		ExpiresIn *param.Duration `json:"expires_in,omitempty" doc:"Time until the key expires, 1s to ten years. Default: never."`
	}
	createKeyInput struct {
		httpapi.JSONBody[createKeyBody]
	}
	createKeyOutput struct {
		CacheControl string `header:"Cache-Control"`
		Body         createdKey
	}
	createdKey struct {
		access.Key
		Secret string `json:"key" doc:"The key itself. Only this response has it."`
	}
	listKeysInput struct {
		paging.Params
		Tenant string `query:"tenant" maxLength:"40" doc:"Tenant of the keys. Default: the caller's tenant; an operator can name another, or * for all."`
	}
	listKeysOutput struct{ Body keyList }
	keyList        struct {
		Keys       []access.Key `json:"keys" doc:"Newest first. Revoked and expired keys are kept for 30 days."`
		NextCursor string       `json:"next_cursor" doc:"Cursor of the next page; empty on the last page."`
	}
	keyInput struct {
		ID string `path:"id" doc:"Id of the key, not the key itself." example:"key_4tqzplnr3mzsyzsylstojxrtb4"`
	}
	keyOutput struct{ Body access.Key }
)

// Keys returns the operations on API keys.
func Keys(keys *auth.Keys) httpapi.Extension {
	return func(api *httpapi.API) {
		httpapi.Register(api, huma.Operation{
			OperationID: "create-key", Method: http.MethodPost, Path: "/keys", DefaultStatus: http.StatusCreated,
			Summary: "Create an API key", Tags: []string{httpapi.TagKeys},
			Description: "The response has the key itself. The server keeps only a hash of it.",
		}, func(ctx context.Context, in *createKeyInput) (*createKeyOutput, error) {
			return create(ctx, keys, in.Value())
		})
		httpapi.DocumentBody[createKeyBody](api, http.MethodPost, "/keys", "CreateKey", "A key that runs code for a month",
			map[string]any{"scopes": []access.Scope{access.SessionsRead, access.SessionsWrite, access.SessionsExecute}, "name": "ci", "expires_in": "720h"})
		httpapi.Register(api, huma.Operation{
			OperationID: "list-keys", Method: http.MethodGet, Path: "/keys",
			Summary: "List API keys", Tags: []string{httpapi.TagKeys},
		}, func(ctx context.Context, in *listKeysInput) (*listKeysOutput, error) {
			list := func(before contract.Position, limit int) ([]access.Key, error) {
				return keys.List(ctx, in.Tenant, before, limit)
			}
			page, next, err := paging.Page(in.Params, list, func(k access.Key) contract.Position {
				return contract.Position{CreatedAt: k.CreatedAt, ID: k.ID}
			})
			return &listKeysOutput{Body: keyList{Keys: page, NextCursor: next}}, err
		})
		httpapi.Register(api, huma.Operation{
			OperationID: "revoke-key", Method: http.MethodDelete, Path: "/keys/{id}",
			Summary: "Revoke an API key", Tags: []string{httpapi.TagKeys},
			Description: "Within 5 s, each controller refuses the key and ends its open streams.",
		}, func(ctx context.Context, in *keyInput) (*keyOutput, error) {
			key, err := keys.Revoke(ctx, in.ID)
			return &keyOutput{Body: key}, err
		})
	}
}

func create(ctx context.Context, keys *auth.Keys, body createKeyBody) (*createKeyOutput, error) {
	req := auth.KeyRequest{Tenant: body.Tenant, Name: body.Name, Scopes: body.Scopes}
	if body.ExpiresIn != nil {
		expires := yurt.Duration(*body.ExpiresIn)
		req.Expires = &expires
	}
	key, secret, err := keys.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	return shownOnce(key, secret), nil
}

// shownOnce answers with a key, which may be kept in no cache.
func shownOnce(key access.Key, secret access.Secret) *createKeyOutput {
	return &createKeyOutput{CacheControl: "no-store", Body: createdKey{Key: key, Secret: secret.Reveal()}}
}
