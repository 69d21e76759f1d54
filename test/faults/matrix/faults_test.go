package matrix

import (
	"context"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// away is how long a part is gone that something outside of Yurt has to start again.
const away = 2 * time.Second

// fault is one that happens to the cluster; happen returns when it is over.
type fault struct {
	name   string
	happen func(*testing.T, *arena, *load)
	loses  bool        // the second node, with its sessions
	codes  []yurt.Code // that are declared beside those of every fault
}

// shortFaults are one of each kind of part: a controller, the node's own processes, Nomad, the store.
func shortFaults() []fault {
	return []fault{
		{name: "kill -9 of the leader", happen: func(t *testing.T, a *arena, _ *load) { a.killController(t, true) }},
		{name: "kill -9 of an executor", happen: executorKilled},
		{name: "kill -9 of a broker", happen: brokerKilled},
		{name: "kill -9 of yurt-files", happen: func(t *testing.T, a *arena, _ *load) { killed(t, a.Nomad.Clients[0].FilesPID) }},
		{name: "kill -9 of a Nomad client", happen: func(t *testing.T, a *arena, _ *load) { restart(t, a.Nomad.Clients[0]) }},
		{name: "kill -9 of PostgreSQL", happen: storeKilled},
	}
}

// killController kills the one that leads, or one that does not, and starts it again.
func (a *arena) killController(t *testing.T, leads bool) {
	t.Helper()
	n := -1
	testutil.Eventually(t, "there is such a controller", func() bool {
		n = slices.IndexFunc([]int{0, 1}, func(i int) bool { return a.Leads(t, i) == leads })
		return n >= 0
	})
	if err := a.Controllers[n].Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(away)
	next, err := a.RestartController(context.WithoutCancel(t.Context()), n+1) // it outlives this row
	if err != nil {
		t.Fatal(err)
	}
	a.balancer.set(t, n, next.URL)
}

// executorKilled: its broker starts another one.
func executorKilled(t *testing.T, a *arena, _ *load) {
	client := a.Nomad.Clients[0]
	broker, err := client.BrokerPID()
	if err != nil {
		t.Fatal(err)
	}
	killed(t, client.ExecutorPID)
	if now, err := client.BrokerPID(); err != nil || now != broker {
		t.Errorf("the broker was process %d and is now %d, %v", broker, now, err)
	}
}

// brokerKilled: its executor ends with it, and the driver starts others.
func brokerKilled(t *testing.T, a *arena, _ *load) {
	client := a.Nomad.Clients[0]
	executor, err := client.ExecutorPID()
	if err != nil {
		t.Fatal(err)
	}
	killed(t, client.BrokerPID)
	testutil.Eventually(t, "another executor runs", func() bool {
		now, err := client.ExecutorPID()
		return err == nil && now != executor
	})
}

// killed kills a process and waits until another one is in its place.
func killed(t *testing.T, find func() (pid int, err error)) {
	t.Helper()
	pid, err := find()
	if err != nil {
		t.Fatal(err)
	}
	testutil.Kill(t, pid)
	testutil.Eventually(t, "another one runs", func() bool {
		now, err := find()
		return err == nil && now != pid
	})
}

// agent is one of Nomad or Consul.
type agent interface {
	Kill() error
	Start(context.Context) error
}

// restart kills agents at once and starts them again, also at once: servers are ready when
// enough of them are there.
func restart[A agent](t *testing.T, agents ...A) {
	t.Helper()
	for _, a := range agents {
		if err := a.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(away)
	var starting errgroup.Group
	for _, a := range agents {
		starting.Go(func() error { return a.Start(context.WithoutCancel(t.Context())) })
	}
	if err := starting.Wait(); err != nil {
		t.Fatal(err)
	}
}

func storeKilled(_ *testing.T, a *arena, _ *load) {
	a.store.Kill()
	time.Sleep(away)
	a.store.Restart()
}
