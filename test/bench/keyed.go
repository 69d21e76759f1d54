package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
)

const (
	keylessPeer = "a server without keys"
	keyedTenant = "acme"
	keyedWarm   = 3 // sandboxes that are kept ready
)

// createKeyed is a create in a warm sandbox by a tenant that has all quotas, with its key, and the same at a server without keys and quotas.
func createKeyed(p *place) ([]contender, error) {
	keyed, operator, err := boundedTenant(p)
	if err != nil {
		return nil, err
	}
	server, err := devserver.Run(p.ctx, filepath.Join(p.bin, "yurt"), filepath.Join(p.dir, "keyless"), "dev", "--listen", "127.0.0.1:0",
		"--run-dir", filepath.Join(p.runDir, "keyless"))
	if err != nil {
		return nil, err
	}
	p.cleanup(server.Stop)
	keyless, err := yurtclient.New(server.URL)
	if err != nil {
		return nil, err
	}
	ours, err := warmCreates(p, "yurt", keyed, operator)
	if err != nil {
		return nil, err
	}
	theirs, err := warmCreates(p, keylessPeer, keyless, keyless)
	return []contender{ours, theirs}, err
}

// boundedTenant starts a server that requires keys, and returns a client of a tenant with quotas there, and one of the operator.
func boundedTenant(p *place) (tenant, operator *yurtclient.Client, err error) {
	server, err := startTenants(p, "keyed")
	if err != nil {
		return nil, nil, err
	}
	if tenant, err = server.tenant(p.ctx, keyedTenant); err != nil {
		return nil, nil, err
	}
	many, cores, bytes := 100_000, 1000.0, yurt.Size(1<<40)
	_, err = yurtclient.NewTenants(server.operator).SetQuotas(p.ctx, keyedTenant, access.Quotas{
		Sessions: &many, CreatesPerMinute: &many, CPU: &cores, Memory: &bytes, Disk: &bytes, Executions: &many, Storage: &bytes,
	})
	return tenant, server.operator, err
}

// warmCreates is a contender that creates a session in a warm sandbox; the operator watches the pool.
func warmCreates(p *place, name string, client, operator *yurtclient.Client) (contender, error) {
	if _, err := operator.SetPool(p.ctx, clusterTemplate, yurt.PoolSize{Min: keyedWarm, Max: keyedWarm}.Change()); err != nil {
		return contender{}, err
	}
	var session yurt.Session
	return contender{
		name: name,
		do: func() (err error) {
			session, err = client.CreateSession(p.ctx, yurtclient.CreateSessionRequest{TemplateID: clusterTemplate, Mode: yurt.ModePersistent})
			if err == nil && session.Placement.Kind != yurt.PlacementWarm {
				err = fmt.Errorf("session %s is %s, and not %s", session.ID, session.Placement.Kind, yurt.PlacementWarm)
			}
			return err
		},
		after: func() error {
			_, err := client.EndSession(p.ctx, session.ID)
			return errors.Join(err, poolFull(p, operator, keyedWarm))
		},
	}, poolFull(p, operator, keyedWarm)
}
