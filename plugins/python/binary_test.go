package python_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/plugins/host"
)

// newHost builds the runtime's binary and returns a host of it.
func newHost(t testing.TB) *host.Host {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "yurt-runtime-python"), "github.com/yurtrun/yurt/cmd/yurt-runtime-python")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		t.Fatalf("building the runtime: %v", err)
	}
	local := programs.New(programs.Config{PluginDir: dir})
	h := host.New(dir, slog.New(slog.DiscardHandler), host.WithConfinement(programs.Runtimes{By: local}))
	t.Cleanup(func() { h.Close(); local.Close() })
	return h
}

// TestBinary goes the whole way: binary, protocol, plan, Python.
func TestBinary(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	req := handler("def handler(event): return {'hello': event['name']}", `{"name":"world"}`)
	for _, language := range []string{"python", "py", "python3", "Python"} {
		req.Language, req.Dir = language, t.TempDir()
		plan, err := h.Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range plan.Files {
			write(t, req.Dir, f.Path, f.Data, f.Mode)
		}
		if got := newSandbox(t, nil).start(t, plan); string(got.result) != `{"hello":"world"}` {
			t.Errorf("%s: got %+v", language, got)
		}
	}
	req.Event = []byte(`{`)
	if _, err := h.Plan(t.Context(), req); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("error %v", err)
	}
}

// BenchmarkHostPlan is one plan from the runtime's process.
func BenchmarkHostPlan(b *testing.B) {
	h := newHost(b)
	req := handler("def handler(event): return event", `{"a":1}`)
	req.Dir = "/run/x"
	for b.Loop() {
		if _, err := h.Plan(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
