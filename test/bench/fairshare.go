package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
)

const (
	crowdSize  = 1000 // creates of one tenant that wait
	phaseQueue = "queue"
	crowdPeer  = "a create of the crowd, without its wait"
)

// fairShare is the wait of a create at the node, while 1,000 creates of another tenant wait there.
func fairShare(p *place, n int) (Row, error) {
	server, err := startTenants(p, "server", "--max-queue", "1100", "--max-sandboxes", "1200", "--memory-overcommit", "1000")
	if err != nil {
		return Row{}, err
	}
	if _, err := server.operator.SetPool(p.ctx, clusterTemplate, yurt.PoolSize{}.Change()); err != nil {
		return Row{}, err
	}
	crowd, err := server.tenant(p.ctx, "crowd")
	if err != nil {
		return Row{}, err
	}
	rival, err := server.tenant(p.ctx, "rival")
	if err != nil {
		return Row{}, err
	}
	ctx, leave := context.WithCancel(p.ctx)
	var waiting sync.WaitGroup
	defer func() { leave(); waiting.Wait() }()
	var mu sync.Mutex
	var making []float64
	for range crowdSize {
		waiting.Go(func() {
			for ctx.Err() == nil {
				if phases, err := createAndEnd(ctx, crowd); err == nil {
					mu.Lock()
					making = append(making, phases["total"]-phases[phaseQueue])
					mu.Unlock()
				}
			}
		})
	}
	waits := make([]float64, 0, n)
	for len(waits) < n {
		time.Sleep(isolated)
		phases, err := createAndEnd(p.ctx, rival)
		if err != nil {
			return Row{}, err
		}
		waits = append(waits, phases[phaseQueue])
	}
	mu.Lock()
	defer mu.Unlock()
	return Row{
		P50: quantile(waits, 0.5), P99: quantile(waits, 0.99), Unit: "ms", N: n,
		Peers: map[string]Peer{crowdPeer: {P50: quantile(making, 0.5), P99: quantile(making, 0.99)}},
	}, nil
}

// createAndEnd makes a small session and ends it. It returns the phases of the create.
func createAndEnd(ctx context.Context, client *yurtclient.Client) (map[string]float64, error) {
	session, err := client.CreateSession(ctx, yurtclient.CreateSessionRequest{
		TemplateID: clusterTemplate, Resources: &yurtclient.Resources{Memory: yurt.MinMemory, Disk: yurt.MinDisk},
	})
	if err != nil {
		return nil, err
	}
	_, err = client.EndSession(context.WithoutCancel(ctx), session.ID)
	return session.Placement.Phases, err
}

// tenants is a server that asks for keys.
type tenants struct {
	url      string
	operator *yurtclient.Client
}

// startTenants starts a server in directories of that name.
func startTenants(p *place, name string, settings ...string) (*tenants, error) {
	program, state := filepath.Join(p.bin, "yurt"), filepath.Join(p.dir, name)
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	made, err := exec.CommandContext(p.ctx, program, "key", "create", "--store", filepath.Join(state, "yurt.db"), "--scope", string(access.Admin)).Output()
	if err != nil {
		return nil, fmt.Errorf("making the first key: %w", err)
	}
	settings = append([]string{"dev", "--listen", "127.0.0.1:0", "--run-dir", filepath.Join(p.runDir, name), "--require-keys"}, settings...)
	server, err := devserver.Run(p.ctx, program, state, settings...)
	if err != nil {
		return nil, err
	}
	p.cleanup(server.Stop)
	operator, err := yurtclient.New(server.URL, yurtclient.WithAPIKey(strings.TrimSpace(string(made))))
	return &tenants{url: server.URL, operator: operator}, err
}

// tenant returns a client with a key of its own.
func (t *tenants) tenant(ctx context.Context, name string) (*yurtclient.Client, error) {
	_, secret, err := t.operator.Keys().Create(ctx, yurtclient.CreateKeyRequest{Tenant: name, Scopes: []access.Scope{access.SessionsRead, access.SessionsWrite}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a key of tenant %s", name), err)
	}
	return yurtclient.New(t.url, yurtclient.WithAPIKey(secret.Reveal()))
}
