//go:build long

package matrix

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestMatrixAll has one cluster go through all faults that are over in seconds.
func TestMatrixAll(t *testing.T) { goThrough(t, append(shortFaults(), otherFaults()...)) }

func otherFaults() []fault {
	return []fault{
		{name: "kill -9 of a controller", happen: func(t *testing.T, a *arena, _ *load) { a.killController(t, false) }},
		{name: "kill -9 of the driver", happen: driverKilled},
		{name: "kill -9 of the leading Nomad server", happen: nomadLeaderKilled},
		{name: "kill -9 of all Nomad servers", happen: func(t *testing.T, a *arena, _ *load) { restart(t, a.Nomad.Servers...) }},
		{name: "kill -9 of the leading Consul server", happen: consulLeaderKilled},
		{name: "kill -9 of all Consul servers", happen: func(t *testing.T, a *arena, _ *load) { restart(t, a.ConsulServers...) }},
		{name: "a slow network", happen: slowNetwork},
		{name: "a full disk at an executor", happen: fullDisk, codes: []yurt.Code{yurt.CodeDiskFull}},
		{name: "a node is cut off and back", happen: cutOff, loses: true},
	}
}

// driverKilled: Nomad starts another one.
func driverKilled(t *testing.T, a *arena, _ *load) {
	client := a.Nomad.Clients[0]
	before := client.Processes(cluster.DriverPlugin)
	for _, pid := range before {
		_ = syscall.Kill(pid, syscall.SIGKILL) // a child of another one may have ended with it
	}
	testutil.Eventually(t, "another driver runs", func() bool {
		now := client.Processes(cluster.DriverPlugin)
		return len(now) > 0 && !slices.ContainsFunc(now, func(pid int) bool { return slices.Contains(before, pid) })
	})
}

// warmMeanwhile is how many sessions have to be placed warm while a leading server is dead.
const warmMeanwhile = 5

// nomadLeaderKilled: while it is dead, sessions are placed warm all along, and cold once
// the other servers have a leader.
func nomadLeaderKilled(t *testing.T, a *arena, l *load) {
	address, err := a.Nomad.API.Status().Leader()
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(a.Nomad.Servers, func(s *cluster.NomadAgent) bool { return s.RPC == address })
	if n < 0 {
		t.Fatalf("no server of Nomad is the leader, %q", address)
	}
	leader := a.Nomad.Servers[n]
	if err := leader.Kill(); err != nil {
		t.Fatal(err)
	}
	l.wantPlaced(template, yurt.PlacementWarm, warmMeanwhile)
	l.wantPlaced(unpooled, yurt.PlacementCold, 1)
	if err := leader.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// consulLeaderKilled: while it is dead, sessions are placed as ever, and once the other
// servers have a leader, controllers hear of nodes again.
func consulLeaderKilled(t *testing.T, a *arena, l *load) {
	address, err := a.Consul.Client.Status().Leader()
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(a.ConsulServers, func(s *cluster.ConsulAgent) bool { return strings.HasPrefix(address, s.IP+":") })
	if n < 0 {
		t.Fatalf("no server of Consul is the leader, %q", address)
	}
	leader := a.ConsulServers[n]
	if err := leader.Kill(); err != nil {
		t.Fatal(err)
	}
	l.wantPlaced(template, yurt.PlacementWarm, warmMeanwhile)
	l.wantPlaced(unpooled, yurt.PlacementCold, 1)
	for i, client := range a.Nomad.Clients {
		since := uint64(0)
		testutil.Eventually(t, "what the node announces is written", func() bool {
			pair, _, err := a.Consul.Client.KV().Get("yurt/capacity/"+client.Node, nil)
			if err != nil || pair == nil {
				return false
			}
			before := since
			since = pair.ModifyIndex
			return before > 0 && since > before
		})
		testutil.Eventually(t, "the controller hears of nodes", func() bool { return a.Tells(t, i, "yurt_view_live 1") })
	}
	if err := leader.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// slowNetwork: for a while one node has a line of two megabits a second.
func slowNetwork(t *testing.T, a *arena, _ *load) {
	host := a.Nomad.Clients[1].Host()
	if err := host.Slow(t.Context(), 2000); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * away)
	if err := host.FullSpeed(t.Context()); err != nil {
		t.Error(err)
	}
}

// fullDisk: for a while the executor of a node cannot write records.
func fullDisk(t *testing.T, a *arena, _ *load) {
	filler, err := os.Create(filepath.Join(a.Nomad.Clients[0].DiskDir(), "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(filler.Close(), os.Remove(filler.Name())); err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(2 * away); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		// Again and again: files removed meanwhile leave room too.
		for err = nil; err == nil; {
			_, err = filler.Write(make([]byte, 4<<10))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// cutOff: the sessions of the node fail, with the reason, before it is back.
func cutOff(t *testing.T, a *arena, l *load) {
	host, node := a.Nomad.Clients[1].Host(), a.Nomad.Clients[1].Node
	if err := host.CutOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := host.Mend(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	began := time.Now()
	for _, s := range a.kept {
		if s.Placement.Node != node {
			continue
		}
		testutil.Eventually(t, "the sessions of the node have failed", func() bool {
			var now yurt.Session
			err := l.once("looking at a session", func(ctx context.Context, c *yurtclient.Client) (err error) {
				now, err = c.Session(ctx, s.ID)
				return err
			})
			return err == nil && now.State == yurt.SessionFailed && now.Reason == "its node "+node+" is lost"
		})
	}
	t.Logf("the sessions of the node failed within %s", time.Since(began).Round(100*time.Millisecond))
}
