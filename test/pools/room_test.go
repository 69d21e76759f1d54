package pools

import (
	"testing"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// narrow and wide are templates of a pool that fills a node of 400 MB, and of a session for
// which two of its slots have to give way.
const (
	narrow = `
template "pooled" {
  resources {
    cpu    = 0.1
    memory = "64Mi"
  }
  warm_pool {
    min = 5
    max = 5
  }
}
`
	wide = `
template "wide" {
  resources {
    cpu    = 0.1
    memory = "192Mi"
  }
}
`
)

// TestIdleSlotsGiveWay: Nomad has no room for a session, while the node's executor, which counts
// the free memory and not the granted one, has plenty. Idle slots end for it, as many as it takes,
// and the pool has them again when the session has ended.
func TestIdleSlotsGiveWay(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	p := &pool{t: t, cluster: yurtcluster.Test(t, yurtcluster.Options{MemoryMB: 400})}
	client := p.client(0)
	for _, text := range []string{narrow, wide} {
		if _, err := client.CreateTemplate(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	p.until(0, "the pool is full", func(now yurt.Pool) bool { return now.Ready == 5 })
	s, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "wide", Mode: yurt.ModePersistent})
	if err != nil {
		t.Fatal(err)
	}
	if s.Placement.Kind != yurt.PlacementCold {
		t.Errorf("it was placed %s", s.Placement.Kind)
	}
	e, err := client.Execute(t.Context(), s.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "echo there is room"}})
	if err != nil || e.Result.Stdout != "there is room\n" {
		t.Errorf("result %+v, error %v", e.Result, err)
	}
	p.until(0, "two slots have given way", func(now yurt.Pool) bool { return now.Ready == 3 })
	end(t, client, []yurt.Session{s})
	p.until(0, "the pool is full again", func(now yurt.Pool) bool { return now.Ready == 5 })
}
