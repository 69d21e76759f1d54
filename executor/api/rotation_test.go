package api_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
	"github.com/yurtrun/yurt/test/testutil"
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
	running(t, source)
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

// TestRotationWhileIdle replaces the authority of both sides while no request is made. Each side takes over each step by itself, and the
// controller connects again with the new certificates.
func TestRotationWhileIdle(t *testing.T) {
	first, second := authority(t), authority(t)
	executor := issue(t, first, identity.RoleExecutor, "n1")
	controller := issue(t, first, identity.RoleController, "c1")
	address, executorLog := serveTLS(t, executor, time.Now)
	controllerLog := &journal{}
	source, err := identity.Open(controller, identity.RoleController, time.Now, slog.New(slog.NewTextHandler(controllerLog, nil)))
	if err != nil {
		t.Fatal(err)
	}
	running(t, source)
	accepted := countConnections(t, address)
	client, err := api.NewTLSClient(accepted.address, "n1", source)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken := func(log *journal, times int) {
		t.Helper()
		testutil.Eventually(t, "the change is in the log", func() bool { return log.count("certificate replaced") == times })
	}
	trust(t, executor, first, second)
	taken(executorLog, 1)
	trust(t, controller, first, second)
	taken(controllerLog, 1)
	reissue(t, second, identity.RoleExecutor, "n1", executor, time.Now)
	taken(executorLog, 2)
	reissue(t, second, identity.RoleController, "c1", controller, time.Now)
	taken(controllerLog, 2)
	before := accepted.count.Load()
	trust(t, executor, second)
	taken(executorLog, 3)
	trust(t, controller, second)
	taken(controllerLog, 3)
	testutil.Eventually(t, "the controller connects again", func() bool { return accepted.count.Load() > before })
	if _, err := client.Describe(t.Context()); err != nil {
		t.Errorf("the first request after the rotation: %v", err)
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

// accepted counts the connections to a server through another address.
type accepted struct {
	address string
	count   atomic.Int64
}

func countConnections(t *testing.T, to string) *accepted {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &accepted{address: listener.Addr().String()}
	var group sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		group.Wait()
	})
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			a.count.Add(1)
			onward, err := net.Dial("tcp", to)
			if err != nil {
				conn.Close()
				continue
			}
			join := func(from, to net.Conn) {
				_, _ = io.Copy(to, from) // a connection may end in any way
				from.Close()
				to.Close()
			}
			group.Go(func() { join(conn, onward) })
			group.Go(func() { join(onward, conn) })
		}
	})
	return a
}
