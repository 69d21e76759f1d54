//go:build long

package matrix

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

const (
	// clientGone is how long a client is away alone: longer than Nomad's servers wait for its
	// heartbeat, which is 10 to 30 s.
	clientGone = 45 * time.Second
	// nodeGone is how long a client and its executor are away together.
	nodeGone = 2 * time.Minute
)

// TestMatrixAway has a cluster go through the faults that last longer than a heartbeat of a
// Nomad client.
func TestMatrixAway(t *testing.T) {
	goThrough(t, []fault{
		{name: "a Nomad client is away for 45 s", happen: clientAway},
		{name: "a Nomad client and its executor are away for 2 min", happen: clientAndExecutorAway, loses: true},
	})
}

// clientAway: the client's allocations go on while it is away, and are the same ones when it
// is back. Sessions are placed all the while.
func clientAway(t *testing.T, a *arena, l *load) {
	client := a.Nomad.Clients[1]
	before := a.allocationsOfKept(t, client)
	testutil.Eventually(t, "Nomad knows that the slots of the node run", func() bool {
		return len(a.slotsOn(t, client.Node, nomad.AllocClientStatusPending)) == 0
	})
	if err := client.Kill(); err != nil {
		t.Fatal(err)
	}
	back := time.Now().Add(clientGone)
	a.wantNomadStatus(t, l, client, nomad.NodeStatusDisconnected)
	l.wantPlaced(template, yurt.PlacementWarm, warmMeanwhile)
	l.wantPlaced(unpooled, yurt.PlacementCold, 1)
	time.Sleep(time.Until(back))
	if err := client.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	a.wantNomadStatus(t, l, client, "")
	for _, id := range before {
		testutil.Eventually(t, "allocation "+id+" runs again as far as Nomad knows", func() bool {
			alloc, _, err := a.Nomad.API.Allocations().Info(id, nil)
			if err != nil {
				return false
			}
			if alloc.DesiredStatus != nomad.AllocDesiredStatusRun {
				t.Fatalf("Nomad stops allocation %s: %s", id, alloc.DesiredDescription)
			}
			return alloc.ClientStatus == nomad.AllocClientStatusRunning
		})
	}
}

// allocationsOfKept lists the allocations on the client's node that have sandboxes of the
// sessions that are kept.
func (a *arena) allocationsOfKept(t *testing.T, client *cluster.NomadAgent) []string {
	t.Helper()
	sandboxes, err := sandboxesOf(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range sandboxes {
		if slices.ContainsFunc(a.kept, func(k *session) bool { return k.ID == s.Labels[yurt.SessionLabel] }) {
			ids = append(ids, s.Labels[yurt.LabelNomadAlloc])
		}
	}
	if len(ids) != keptEach {
		t.Fatalf("the allocations of kept sessions on %s are %v, want %d", client.Node, ids, keptEach)
	}
	return ids
}

// wantNomadStatus waits until the list of nodes says that of the client's node, whose executor
// is well. "" says that Nomad reaches the client.
func (a *arena) wantNomadStatus(t *testing.T, l *load, client *cluster.NomadAgent, want string) {
	t.Helper()
	testutil.Eventually(t, "the list of nodes has the node with Nomad's status "+want, func() bool {
		var nodes []yurt.NodeInfo
		err := l.once("listing nodes", func(ctx context.Context, c *yurtclient.Client) (err error) {
			nodes, err = c.Nodes(ctx)
			return err
		})
		n := slices.IndexFunc(nodes, func(n yurt.NodeInfo) bool { return n.Name == client.Node })
		return err == nil && n >= 0 && nodes[n].Healthy && nodes[n].NomadStatus == want
	})
}

// clientAndExecutorAway: the pool is whole again on the other node, and counts no slot of the
// one that is away.
func clientAndExecutorAway(t *testing.T, a *arena, l *load) {
	client := a.Nomad.Clients[1]
	broker, err := client.BrokerPID()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Kill(); err != nil {
		t.Fatal(err)
	}
	back := time.Now().Add(nodeGone)
	for _, pid := range client.Processes(cluster.DriverPlugin) { // it would start another executor
		_ = syscall.Kill(pid, syscall.SIGKILL) // a child of another one may have ended with it
	}
	testutil.Kill(t, broker) // and with it its executor
	testutil.Eventually(t, "the sessions of the node have failed", func() bool { return a.keptOn(t, l, client.Node) == 0 })
	testutil.Eventually(t, "no slot of the node is left in Nomad", func() bool { return len(a.slotsOn(t, client.Node, "")) == 0 })
	l.wantPlaced(unpooled, yurt.PlacementCold, 1)
	a.wantPoolWhole(t, l)
	time.Sleep(time.Until(back))
	if err := client.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// wantPoolWhole waits until the pool has its full size, and no request is pending. Callers claim
// from it all the while.
func (a *arena) wantPoolWhole(t *testing.T, l *load) {
	t.Helper()
	var seen yurt.Pool
	defer func() {
		if t.Failed() {
			t.Logf("the pool is %+v", seen)
		}
	}()
	testutil.Eventually(t, "nothing of the pool is pending", func() bool {
		var pools []yurt.Pool
		err := l.once("looking at pools", func(ctx context.Context, c *yurtclient.Client) (err error) {
			pools, err = c.Pools(ctx)
			return err
		})
		n := slices.IndexFunc(pools, func(p yurt.Pool) bool { return p.Template == template })
		if err != nil || n < 0 {
			return false
		}
		seen = pools[n]
		return seen.Pending == 0 && seen.Ready > 0
	})
}

// keptOn counts the kept sessions on the node that have not ended.
func (a *arena) keptOn(t *testing.T, l *load, node string) int {
	t.Helper()
	live := 0
	for _, s := range a.kept {
		if s.Placement.Node != node {
			continue
		}
		var now yurt.Session
		err := l.once("looking at a session", func(ctx context.Context, c *yurtclient.Client) (err error) {
			now, err = c.Session(ctx, s.ID)
			return err
		})
		if err != nil || !now.State.Ended() {
			live++
		}
	}
	return live
}

// slotsOn lists the warm slots that Nomad has on the node and does not stop: those with a status, or
// for "" all that are not lost.
func (a *arena) slotsOn(t *testing.T, node, status string) []string {
	t.Helper()
	allocs, _, err := a.Nomad.API.Allocations().List(&nomad.QueryOptions{Filter: `JobID matches "^yurt-warm_" and DesiredStatus == "run"`})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, alloc := range allocs {
		lost := alloc.ClientStatus == nomad.AllocClientStatusLost
		if alloc.NodeName == node && (alloc.ClientStatus == status || status == "" && !lost) {
			ids = append(ids, alloc.JobID)
		}
	}
	return ids
}
