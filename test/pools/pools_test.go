package pools

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
	"github.com/yurtrun/yurt/test/pgserver"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// patience is how long anything is waited for; it is long since machines are busy.
const patience = 2 * time.Minute

// pooled has a pool whose unused sandboxes end after a few seconds.
const pooled = `
template "pooled" {
  resources {
    cpu    = 0.1
    memory = "64Mi"
  }
  warm_pool {
    min          = 1
    max          = 8
    idle_timeout = "20s"
  }
}
`

// pool is the pool of a cluster under test.
type pool struct {
	t       *testing.T
	cluster *yurtcluster.Cluster
	most    int // warm slots that Nomad had at once
}

func (p *pool) client(i int) *yurtclient.Client {
	return contract.Client(p.t, p.cluster.Controllers[i].URL)
}

// until waits until the pool, as one controller sees it, is as it should be.
func (p *pool) until(controller int, what string, good func(yurt.Pool) bool) yurt.Pool {
	p.t.Helper()
	var last yurt.Pool
	var err error
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for client := p.client(controller); ; {
		p.most = max(p.most, p.jobs())
		now, failed := client.Pool(ctx, "pooled")
		if err = failed; err == nil {
			last = now
		}
		if err == nil && good(now) {
			return now
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			p.t.Fatalf("it did not come to this: %s; the pool is %+v, %v, and Nomad has %d warm slots", what, last, err, p.jobs())
		}
	}
}

// jobs is how many warm slots Nomad has.
func (p *pool) jobs() int {
	jobs, _, err := p.cluster.Nomad.API.Jobs().List(&nomad.QueryOptions{Prefix: "yurt-warm"})
	if err != nil {
		p.t.Fatal(err)
	}
	alive := 0
	for _, job := range jobs {
		if job.Status != "dead" && !job.Stop {
			alive++
		}
	}
	return alive
}

// burst creates sessions at once, at all running controllers, and has each of them do some work.
// All must succeed. It returns them.
func (p *pool) burst(controllers, sessions int) (made []yurt.Session) {
	p.t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range sessions {
		all.Go(func() {
			client := p.client(i % controllers)
			s, err := client.CreateSession(p.t.Context(), yurtclient.CreateSessionRequest{TemplateID: "pooled", Mode: yurt.ModePersistent})
			if err != nil {
				p.t.Errorf("session %d of a burst: %v", i, err)
				return
			}
			e, err := client.Execute(p.t.Context(), s.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"echo", "hello"}}})
			if err != nil || e.Result == nil || strings.TrimSpace(e.Result.Stdout) != "hello" {
				p.t.Errorf("an execution in it is %+v, %v", e, err)
			}
			mu.Lock()
			defer mu.Unlock()
			made = append(made, s)
		})
	}
	all.Wait()
	return made
}

// warmBurst is a burst whose sessions all got a warm sandbox. On a machine so busy that the
// pool has shrunk meanwhile it may take several.
func (p *pool) warmBurst(sessions int) []yurt.Session {
	p.t.Helper()
	for begun := time.Now(); ; {
		made := p.burst(2, sessions)
		n := kinds(made)
		if n[yurt.PlacementWarm] == sessions || p.t.Failed() {
			return made
		}
		end(p.t, p.client(1), made)
		if time.Since(begun) > patience {
			p.t.Fatalf("of %d sessions at once only %v were warm", sessions, n)
		}
	}
}

func kinds(sessions []yurt.Session) map[yurt.PlacementKind]int {
	n := map[yurt.PlacementKind]int{}
	for _, s := range sessions {
		n[s.Placement.Kind]++
	}
	return n
}

// TestPool follows a pool of two controllers: filled, taken by a burst, filled again beyond its
// earlier size, at its least when idle; and the leader killed in the middle of it, which neither
// doubles nor empties it.
func TestPool(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	p := &pool{t: t, cluster: yurtcluster.Test(t, yurtcluster.Options{Store: pgserver.Start(t).Database()})}
	if _, err := p.cluster.StartController(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := p.client(0).CreateTemplate(t.Context(), []byte(pooled)); err != nil {
		t.Fatal(err)
	}
	p.until(0, "one is ready", func(now yurt.Pool) bool { return now.Ready == 1 && now.Target == 1 })

	sessions := p.burst(2, 6)
	t.Logf("the first burst got %v", kinds(sessions))
	after := p.until(1, "the pool is filled for another burst", func(now yurt.Pool) bool {
		return now.Target >= 3 && now.Ready >= now.Target
	})
	t.Logf("after it the pool is %+v", after)
	// Of the leader, which has seen all of it: another may have come too late for some.
	p.until(0, "the leader has counted who asked", func(now yurt.Pool) bool { return now.Hits+now.Misses >= 6 })
	if warm := kinds(sessions)[yurt.PlacementWarm]; warm < 1 {
		t.Errorf("none of them was warm")
	}
	end(t, p.client(1), sessions)
	p.until(1, "the slots of the sessions are filled again", func(now yurt.Pool) bool { return now.Claimed == 0 && now.Ready >= after.Ready })

	sessions = p.warmBurst(3)
	before := p.most
	if err := p.cluster.Controllers[0].Kill(); err != nil { // it was first, and leads
		t.Fatal(err)
	}
	end(t, p.client(1), sessions)
	last := p.until(1, "the next leader has the pool at its least", func(now yurt.Pool) bool {
		return now.Target == 1 && now.Ready == 1 && now.Pending == 0 && now.Claimed == 0
	})
	if p.most >= 2*before {
		t.Errorf("there were %d warm slots when another came to lead, and %d before", p.most, before)
	}
	p.until(1, "Nomad has forgotten the others", func(yurt.Pool) bool { return p.jobs() == 1 })
	t.Logf("in the end the pool is %+v; Nomad had %d warm slots at the most", last, p.most)
}

func end(t *testing.T, client *yurtclient.Client, sessions []yurt.Session) {
	t.Helper()
	for _, s := range sessions {
		if _, err := client.EndSession(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
	}
}
