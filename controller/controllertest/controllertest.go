// Package controllertest runs a controller for tests of its transports: on a store in a file, and a node without sandboxes.
package controllertest

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/sqlite"
)

// readyLimit is how long a controller may take to get ready.
const readyLimit = 10 * time.Second

// New runs a controller that is ready, on a store and a node of its own, for as long as the test. A change may replace the
// logger and the registry of its metrics. The node is released before the controller ends, so that executions that block end.
func New(t testing.TB, changes ...func(*controller.Config)) (*controller.Controller, *nodetest.Node) {
	t.Helper()
	node := nodetest.New()
	store, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	config := controller.Config{
		Store: store, Placer: node.Placer(), Templates: nodetest.Templates(), Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
	for _, change := range changes {
		change(&config)
	}
	ctl, err := controller.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := ctl.Run(ctx); err != nil {
			t.Errorf("running the controller: %v", err)
		}
	})
	t.Cleanup(func() {
		node.Release()
		stop()
		running.Wait()
		if err := ctl.Close(); err != nil {
			t.Errorf("closing the controller: %v", err)
		}
	})
	waitReady(t, ctl)
	return ctl, node
}

func waitReady(t testing.TB, ctl *controller.Controller) {
	t.Helper()
	for end := time.Now().Add(readyLimit); ctl.Ready(context.Background()) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the controller does not get ready")
		}
	}
}
