package driver

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/test/rig"
)

// TestSweepEndsWhatNomadForgot, and nothing else, and not at first sight.
func TestSweepEndsWhatNomadForgot(t *testing.T) {
	e := rig.Executor(t)
	config := Config{StateDir: t.TempDir()}
	listener, err := api.ListenUnix(t.Context(), config.socket())
	if err != nil {
		t.Fatal(err)
	}
	server := api.NewServer(api.ServerConfig{Node: e, Name: "test", Version: "v1", Logger: slog.New(slog.DiscardHandler)})
	server.ServeUnix(listener)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	}()
	d := newDriver(t.Context(), "v1", slog.New(slog.DiscardHandler))
	defer d.close()
	d.configure(config)
	d.add(&task{id: "known"})
	here, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	spec := rig.Spec()
	keep := map[string]bool{}
	for id, tt := range map[string]struct {
		task, dir string
		kept      bool
	}{
		"known": {"known", gone, true}, "here": {"other", here, true}, "nobodys": {"", "", true}, "gone": {"other", gone, false},
	} {
		labels := map[string]string{labelTask: tt.task, labelDir: tt.dir}
		if _, err := e.OpenSlot(t.Context(), yurt.SlotSpec{ID: id, Template: spec.Template, Resources: spec.Resources, Labels: labels}); err != nil {
			t.Fatal(err)
		}
		one := rig.Spec()
		one.Labels = labels
		if _, err := e.CreateSandbox(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		keep[id], keep[one.ID] = tt.kept, tt.kept
	}
	sweeper := &sweeper{driver: d}
	for round := range 3 {
		if err := sweeper.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		slots, err := e.Slots(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range slots {
			there[s.ID] = true
		}
		sandboxes, err := e.Sandboxes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sandboxes {
			there[s.ID] = true
		}
		for id, kept := range keep {
			if want := kept || round == 0; there[id] != want {
				t.Errorf("after look %d, %s is there: %t, want %t", round, id, there[id], want)
			}
		}
	}
}
