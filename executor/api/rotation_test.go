package api_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
)

// TestRotationUnderLoad replaces the authority of both sides, by the steps of docs/CLUSTER.md, while a controller makes requests by
// open and by new connections. No request may fail.
func TestRotationUnderLoad(t *testing.T) {
	first, second := authority(t), authority(t)
	executor := issue(t, first, identity.RoleExecutor, "n1")
	controller := issue(t, first, identity.RoleController, "c1")
	address, log := serveTLS(t, executor, time.Now)
	source, err := identity.Open(controller, identity.RoleController, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	load := startLoad(t, address, source)
	for _, step := range []func(){
		func() { trust(t, executor, first, second); trust(t, controller, first, second) },
		func() { reissue(t, second, identity.RoleExecutor, "n1", executor, time.Now) },
		func() { reissue(t, second, identity.RoleController, "c1", controller, time.Now) },
		func() { trust(t, executor, second); trust(t, controller, second) },
		func() {},
	} {
		before := load.fresh.Load()
		step()
		for begin := time.Now(); load.fresh.Load() < before+40; time.Sleep(time.Millisecond) { // those under way before the step, and more
			if time.Since(begin) > time.Minute {
				t.Fatalf("%d requests by new connections within a minute, want 40", load.fresh.Load()-before)
			}
		}
	}
	load.end()
	t.Logf("%d requests by open connections, %d by new ones", load.open.Load(), load.fresh.Load())
	if err := call(t, address, issue(t, first, identity.RoleController, "c1"), time.Now); err == nil {
		t.Error("after the rotation a certificate of the first authority is taken")
	}
	if !log.has("certificate replaced") {
		t.Error("the executor's log has no line about a certificate that was replaced")
	}
}

// load makes requests until it ends, each of which has to succeed.
type load struct {
	open, fresh atomic.Int64 // requests by open and by new connections
	end         func()
}

func startLoad(t *testing.T, address string, source *identity.Source) *load {
	t.Helper()
	l := &load{}
	var done atomic.Bool
	var group sync.WaitGroup
	l.end = func() {
		done.Store(true)
		group.Wait()
	}
	t.Cleanup(l.end)
	describe := func(client *api.Client, kind string, count *atomic.Int64) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := client.Describe(ctx); err != nil {
			t.Errorf("a request by %s connection: %v", kind, err)
			done.Store(true)
		}
		count.Add(1)
	}
	connect := func() *api.Client {
		client, err := api.NewTLSClient(address, "n1", source)
		if err != nil {
			t.Error(err)
		}
		return client
	}
	for range 4 {
		group.Go(func() {
			client := connect()
			defer client.Close()
			for !done.Load() {
				describe(client, "an open", &l.open)
			}
		})
		group.Go(func() {
			for !done.Load() {
				client := connect()
				describe(client, "a new", &l.fresh)
				client.Close()
			}
		})
	}
	return l
}
