package host

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// counting is a runtime whose plans tell how often it was asked.
type counting struct {
	obedient
	calls atomic.Int64
}

func (c *counting) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	return plugins.Plan{
		Argv:    []string{req.Dir + "/program", req.ExecutionID, fmt.Sprint(c.calls.Add(1))},
		Env:     map[string]string{"OUT": req.OutDir},
		Files:   []plugins.File{{Path: "f", Data: []byte(req.Dir + " " + req.ExecutionID), Mode: 0o644}, {Path: "g", Data: []byte("same"), Mode: 0o644}},
		Compile: []plugins.Step{{Argv: []string{"cc", req.OutDir}, Env: map[string]string{"DIR": req.Dir}}},
	}, nil
}

// TestPlansAreKept puts a request twice, for two executions: the runtime is asked once,
// and each has a plan of its own.
func TestPlansAreKept(t *testing.T) {
	t.Parallel()
	h := newHost(t, pluginDir(t, "count"))
	ask := func(id, code string) plugins.Plan {
		t.Helper()
		plan, err := h.Plan(t.Context(), plugins.PlanRequest{
			ExecutionID: id, Kind: yurt.KindCode, Language: "count", Code: code, Dir: "/run/" + id, OutDir: "/out/" + id,
		})
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	want := func(call int, id string) plugins.Plan {
		return plugins.Plan{
			Argv: []string{"/run/" + id + "/program", id, fmt.Sprint(call)}, Env: map[string]string{"OUT": "/out/" + id},
			Files:   []plugins.File{{Path: "f", Data: []byte("/run/" + id + " " + id), Mode: 0o644}, {Path: "g", Data: []byte("same"), Mode: 0o644}},
			Compile: []plugins.Step{{Argv: []string{"cc", "/out/" + id}, Env: map[string]string{"DIR": "/run/" + id}}},
		}
	}
	for _, step := range []struct {
		id, code string
		call     int
	}{{"exe_1", "a", 1}, {"exe_2", "a", 1}, {"exe_3", "b", 2}, {"exe_1", "a", 1}} {
		if diff := cmp.Diff(want(step.call, step.id), ask(step.id, step.code)); diff != "" {
			t.Errorf("%+v: %s", step, diff)
		}
	}
}

func TestPlanCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newPlanCache()
	for i := range 2 * maxCachedPlans {
		key, err := c.key(plugins.PlanRequest{Code: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		c.put(key, plugins.Plan{Argv: []string{fmt.Sprint(i)}})
		c.put(key, plugins.Plan{Argv: []string{"again"}})
		if plan, ok := c.get(key); !ok || plan.Argv[0] != fmt.Sprint(i) {
			t.Fatalf("plan %d is %v, %t", i, plan, ok)
		}
	}
	if len(c.plans) != maxCachedPlans || len(c.order) != maxCachedPlans {
		t.Errorf("%d plans are kept, %d in order", len(c.plans), len(c.order))
	}
	large, err := c.key(plugins.PlanRequest{Code: "large"})
	if err != nil {
		t.Fatal(err)
	}
	c.put(large, plugins.Plan{Files: []plugins.File{{Data: make([]byte, maxCachedPlanBytes+1)}}})
	if _, ok := c.get(large); ok {
		t.Error("a large plan is kept")
	}
}
