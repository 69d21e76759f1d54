package main

import (
	"context"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// madeKey is a key or token that a scenario made.
type madeKey struct {
	access.Key
	secret access.Secret
}

type accountOperation func(context.Context, *play, *step) (any, error)

// accountOperations are those on keys, tokens, quotas and the audit log.
func accountOperations() map[string]accountOperation {
	return map[string]accountOperation{
		"create_key": createKey, "create_token": createToken, "list_keys": listKeys, "revoke_key": revokeKey, "set_quotas": setQuotas,
		"usage": usage, "samples": samples, "tenants": tenants, "audit": auditLog,
	}
}

func (p *play) remember(s *step, key access.Key, secret access.Secret, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	p.keys[s.As] = madeKey{key, secret}
	box := p.named[s.In]
	return object{
		"id": key.ID, "key": secret.Reveal(), "tenant": key.Tenant, "name": key.Name, "scopes": key.Scopes,
		"session": box != nil && box.ID == key.SessionID,
	}, nil
}

func createKey(ctx context.Context, p *play, s *step) (any, error) {
	var with yurtclient.CreateKeyRequest
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	client, err := p.clientOf(s)
	if err != nil {
		return nil, err
	}
	key, secret, err := client.Keys().Create(ctx, with)
	return p.remember(s, key, secret, err)
}

func createToken(ctx context.Context, p *play, s *step) (any, error) {
	var with yurtclient.CreateTokenRequest
	if err := arguments(s, &with); err != nil {
		return nil, err
	}
	key, secret, err := p.named[s.In].CreateToken(ctx, with)
	return p.remember(s, key, secret, err)
}

// accounting are the arguments of the other steps about accounts.
type accounting struct {
	Tenant   string          `json:"tenant"`
	ID       string          `json:"id"`
	Named    string          `json:"named"`
	Action   string          `json:"action"`
	Decision access.Decision `json:"decision"`
	Limit    int             `json:"limit"`
	access.Quotas
}

// account returns the arguments of a step, and its client.
func account(p *play, s *step) (with accounting, client *yurtclient.Client, err error) {
	if err := arguments(s, &with); err != nil {
		return with, nil, err
	}
	client, err = p.clientOf(s)
	return with, client, err
}

func listKeys(ctx context.Context, p *play, s *step) (any, error) {
	with, client, err := account(p, s)
	if err != nil {
		return nil, err
	}
	found, err := client.Keys().List(ctx, with.Tenant)
	names := []string{}
	for i := range found {
		names = append(names, found[i].Name)
	}
	return object{"names": names}, err
}

func revokeKey(ctx context.Context, p *play, s *step) (any, error) {
	with, client, err := account(p, s)
	if err != nil {
		return nil, err
	}
	if with.Named != "" {
		with.ID = p.keys[with.Named].ID
	}
	key, err := client.Keys().Revoke(ctx, with.ID)
	return object{"revoked": key.RevokedAt != nil}, err
}

func used(told access.TenantUsage, err error) (any, error) {
	q := told.Quotas
	return object{"tenant": told.Tenant, "sessions": q.Sessions, "memory": q.Memory, "cpu": q.CPU, "used": told.Usage.Sessions}, err
}

func setQuotas(ctx context.Context, p *play, s *step) (any, error) {
	with, client, err := account(p, s)
	if err != nil {
		return nil, err
	}
	return used(yurtclient.NewTenants(client).SetQuotas(ctx, with.Tenant, with.Quotas))
}

func usage(ctx context.Context, p *play, s *step) (any, error) {
	with, client, err := account(p, s)
	if err != nil {
		return nil, err
	}
	return used(yurtclient.NewTenants(client).Usage(ctx, with.Tenant))
}

func samples(ctx context.Context, p *play, s *step) (any, error) {
	with, client, err := account(p, s)
	if err != nil {
		return nil, err
	}
	var told access.UsageHistory
	box := p.named[s.In]
	if box != nil {
		told, err = yurtclient.NewTenants(client).SessionSamples(ctx, box.ID)
	} else {
		told, err = yurtclient.NewTenants(client).Samples(ctx, with.Tenant)
	}
	return object{"tenant": told.Tenant, "resolution": time.Duration(told.Resolution).Seconds(), "session": box != nil && told.SessionID == box.ID}, err
}

func tenants(ctx context.Context, p *play, s *step) (any, error) {
	_, client, err := account(p, s)
	if err != nil {
		return nil, err
	}
	found, err := yurtclient.NewTenants(client).List(ctx)
	names := []string{}
	for i := range found {
		names = append(names, found[i].Tenant)
	}
	return object{"names": names}, err
}

// auditLog waits for an entry: it is there within a second or so of its request.
func auditLog(ctx context.Context, p *play, s *step) (any, error) {
	with, client, err := account(p, s)
	if err != nil {
		return nil, err
	}
	filter := yurtclient.AuditFilter{Tenant: with.Tenant, Action: with.Action, Decision: with.Decision, Limit: with.Limit}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		found, err := yurtclient.Audit(ctx, client, filter)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 || time.Now().After(end) {
			return object{"count": len(found), "session": len(found) > 0 && strings.HasPrefix(found[0].SessionID, yurt.SessionIDPrefix)}, nil
		}
	}
}
