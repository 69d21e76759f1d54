package local_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/local"
)

// pooled is a template that keeps two sandboxes ready, and up to five.
func pooled() yurt.Template {
	return yurt.Template{
		Name: "pooled", Resources: yurt.DefaultResources(),
		WarmPool: yurt.WarmPool{Min: 2, Max: 5, IdleTimeout: yurt.Duration(time.Minute)},
	}
}

// TestPool follows a warm pool through its life, in the time of a test's own.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodetest.New()
		placer := local.New("here", node, slog.New(slog.DiscardHandler))
		var templates atomic.Pointer[[]yurt.Template]
		templates.Store(&[]yurt.Template{pooled()})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			placer.Run(ctx, func(context.Context) ([]yurt.Template, error) { return *templates.Load(), nil })
		}()
		wantReady := func(when string, want int) {
			t.Helper()
			ready := 0
			list, err := node.Reserves(t.Context())
			for _, r := range list {
				ready += r.Ready
			}
			if err != nil || ready != want {
				t.Errorf("%s: %d are ready, want %d; %v", when, ready, want, err)
			}
		}
		place := func() yurt.PlacementKind {
			t.Helper()
			spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: pooled(), Resources: yurt.DefaultResources()}
			sandbox, placement, err := placer.Place(t.Context(), spec, contract.Hints{})
			if err != nil || sandbox.Node != "here" || placement.Node != "here" {
				t.Fatalf("it got %+v, %+v, %v", sandbox, placement, err)
			}
			return placement.Kind
		}
		synctest.Wait()
		wantReady("at first", 2)
		if kind := place(); kind != yurt.PlacementWarm {
			t.Errorf("the first placement is %s", kind)
		}
		synctest.Wait()
		wantReady("at once after a claim, when its first command runs", 1)
		time.Sleep(60 * time.Millisecond)
		wantReady("after the refill", 2)
		for i, want := range []yurt.PlacementKind{yurt.PlacementWarm, yurt.PlacementWarm, yurt.PlacementCold} {
			if kind := place(); kind != want {
				t.Errorf("placement %d of a rush is %s, want %s", i, kind, want)
			}
		}
		time.Sleep(60 * time.Millisecond)
		wantReady("after a rush", 4)
		time.Sleep(65 * time.Second)
		wantReady("when nobody has come for long", 2)
		node.Fail("CreateSandbox", yurt.Errorf(yurt.CodeOverloaded, "full"))
		if kind := place(); kind != yurt.PlacementWarm {
			t.Errorf("a placement on a full node is %s", kind)
		}
		time.Sleep(2 * time.Second)
		wantReady("after a refill that failed at first", 2)
		templates.Store(&[]yurt.Template{})
		time.Sleep(2 * time.Second)
		wantReady("without its template", 0)
		templates.Store(&[]yurt.Template{pooled()})
		time.Sleep(2 * time.Second)
		wantReady("with its template again", 2)
		if kind := place(); kind != yurt.PlacementWarm {
			t.Errorf("a placement from it is %s", kind)
		}
		time.Sleep(60 * time.Millisecond)
		want := yurt.Pool{Template: "pooled", PoolSize: yurt.PoolSize{Min: 2, Max: 5}, Target: 2, Ready: 2, Hits: 1, HitRate: 1, Refills: 3}
		if list, err := placer.Pools(t.Context(), *templates.Load()); err != nil || len(list) != 1 || list[0] != want {
			t.Errorf("it says %+v, %v; want %+v", list, err, want)
		}
		stop()
		<-done
		wantReady("in the end", 0)
	})
}

// TestNoPool: a template without a pool gets no pool.
func TestNoPool(t *testing.T) {
	node := nodetest.New()
	placer := local.New("here", node, slog.New(slog.DiscardHandler))
	template := pooled()
	if _, err := node.ReserveSandbox(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	template.WarmPool = yurt.WarmPool{}
	_, placement, err := placer.Place(t.Context(), yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template}, contract.Hints{})
	if err != nil || placement.Kind != yurt.PlacementCold {
		t.Errorf("it got %+v, %v", placement, err)
	}
}

// TestNodeList: a node that drains is listed so.
func TestNodeList(t *testing.T) {
	node := nodetest.New()
	placer := local.New("here", node, slog.New(slog.DiscardHandler))
	for _, draining := range []bool{false, true} {
		if err := node.SetDraining(t.Context(), draining); err != nil {
			t.Fatal(err)
		}
		list, err := placer.NodeList(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "here" || list[0].Draining != draining {
			t.Errorf("the nodes are %+v, %v", list, err)
		}
	}
}
