package node_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestMemoryIsPromisedOnce: of sandboxes that are asked for at once, as many are made as the node may promise memory to, and the rest are
// refused with the reason. All of them are below the bounds of all.
func TestMemoryIsPromisedOnce(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	config.All = budget.Bounds{Memory: 600 << 20, PIDs: 1000, Overcommit: 2}
	e := testutil.Start(t, config)
	var wait sync.WaitGroup
	made, refused := make(chan string, 5), make(chan error, 5)
	for range cap(made) {
		wait.Go(func() {
			spec := testutil.Spec()
			spec.Resources.Memory = 500 << 20
			if s, err := e.CreateSandbox(t.Context(), spec); err != nil {
				refused <- err
			} else {
				made <- s.ID
			}
		})
	}
	wait.Wait()
	if len(made) != 2 {
		t.Errorf("%d sandboxes of 500 MiB were made, want 2 in twice 600 MiB", len(made))
	}
	for len(refused) > 0 {
		if err := <-refused; yurt.CodeOf(err) != yurt.CodeOverloaded || !strings.Contains(err.Error(), "--memory-overcommit 2") {
			t.Errorf("one too many was refused by %v", err)
		}
	}
	capacity, err := e.Capacity(t.Context())
	if want := (yurt.MemoryPromise{Limit: 600 << 20, Promised: 1000 << 20, Promisable: 1200 << 20}); err != nil || capacity.Memory != want {
		t.Errorf("the node says %+v, %v; want %+v", capacity.Memory, err, want)
	}
	wantParent(t, config, "memory", map[string]string{"memory.limit_in_bytes": "629145600", "memory.max": "629145600"})
	wantParent(t, config, "pids", map[string]string{"pids.max": "1000"})
	if err := e.DestroySandbox(t.Context(), <-made); err != nil {
		t.Fatal(err)
	}
	testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.Memory = 500 << 20 })

	for field, change := range map[string]func(*yurt.Resources){
		"resources.memory": func(r *yurt.Resources) { r.Memory = 601 << 20 },
		"resources.pids":   func(r *yurt.Resources) { r.PIDs = 1001 },
	} {
		spec := testutil.Spec()
		change(&spec.Resources)
		if _, err := e.CreateSandbox(t.Context(), spec); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange || !strings.Contains(err.Error(), strconv.Itoa(600)) && field == "resources.memory" {
			t.Errorf("%s beyond that of all sandboxes gave %v", field, err)
		}
	}
}

// TestClaimsPromiseMemoryOnce: of claims that ask at once for more memory than their sandboxes have, as many succeed as the node may
// promise memory to. A claim that adds no memory succeeds.
func TestClaimsPromiseMemoryOnce(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	config.All = budget.Bounds{Memory: 600 << 20, PIDs: 1000, Overcommit: 1}
	e := testutil.Start(t, config)
	template := testutil.Template()
	template.Resources.Memory = 100 << 20
	for range 4 {
		if _, err := e.ReserveSandbox(t.Context(), template); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(memory yurt.Size) bool {
		spec := testutil.Spec()
		spec.Template, spec.Resources.Memory = template, memory
		_, found, err := e.ClaimSandbox(t.Context(), spec)
		if err != nil {
			t.Errorf("claiming %s: %v", memory, err)
		}
		return found
	}
	var wait sync.WaitGroup
	var claimed atomic.Int32
	for range 3 {
		wait.Go(func() {
			if claim(250 << 20) {
				claimed.Add(1)
			}
		})
	}
	wait.Wait()
	if claimed.Load() != 1 {
		t.Errorf("%d claims of 250 MiB succeeded, want 1 in 200 MiB of room", claimed.Load())
	}
	if !claim(100 << 20) {
		t.Error("a claim that adds no memory found no sandbox")
	}
	if capacity, err := e.Capacity(t.Context()); err != nil || capacity.Memory.Promised != 550<<20 {
		t.Errorf("the node says %+v, %v; want 550 MiB promised", capacity.Memory, err)
	}
}

// wantParent compares those of the control files that this version of cgroups has, of the cgroup of all sandboxes.
func wantParent(t *testing.T, config executor.Config, controller string, files map[string]string) {
	t.Helper()
	found := 0
	for name, want := range files {
		for _, root := range []string{"/sys/fs/cgroup/" + controller, "/sys/fs/cgroup"} {
			got, err := os.ReadFile(filepath.Join(root, statedir.CgroupName(config.StateDir), name))
			if err != nil {
				continue
			}
			found++
			if strings.TrimSpace(string(got)) != want {
				t.Errorf("%s of all sandboxes is %s, want %s", name, got, want)
			}
		}
	}
	if found == 0 {
		t.Errorf("there is no limit of %s for all sandboxes", controller)
	}
}
