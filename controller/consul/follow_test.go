package consul

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
	testcluster "github.com/yurtrun/yurt/test/cluster"
)

const patience = 90 * time.Second // for each wait, also on a slow machine

// node is an executor's own entry.
type node struct {
	t       *testing.T
	client  *api.Client
	name    string
	session string
}

func newNode(t *testing.T, client *api.Client, name string) *node {
	t.Helper()
	n := &node{t: t, client: client, name: name}
	err := client.Agent().ServiceRegister(&api.AgentServiceRegistration{
		Name: service, ID: service + "-" + name, Address: "127.0.0.1", Port: 8701, Meta: map[string]string{metaNode: name},
		Check: &api.AgentServiceCheck{CheckID: name, TTL: "1h", Status: api.HealthPassing},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.hold()
	return n
}

func (n *node) hold() {
	n.t.Helper()
	session, _, err := n.client.Session().CreateNoChecks(&api.SessionEntry{TTL: "1h", Behavior: api.SessionBehaviorDelete, LockDelay: time.Nanosecond}, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	n.session = session
}

func (n *node) write(warm int) {
	n.t.Helper()
	c := yurt.Capacity{Node: n.name, Address: "127.0.0.1:8701", Templates: map[string]yurt.TemplateCapacity{digestOf("a"): {Warm: warm}}}
	held, _, err := n.client.KV().Acquire(&api.KVPair{Key: keyPrefix + n.name, Value: marshal(n.t, c), Session: n.session}, nil)
	if err != nil || !held {
		n.t.Fatalf("writing the key: held %v, error %v", held, err)
	}
}

func (n *node) check(status string) {
	n.t.Helper()
	if err := n.client.Agent().UpdateTTL(n.name, "", status); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) end() {
	n.t.Helper()
	if _, err := n.client.Session().Destroy(n.session, nil); err != nil {
		n.t.Fatal(err)
	}
}

// until waits for the view to be as wanted, and looks whenever it says that it changed.
func until(t *testing.T, v *View, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond) // the status notifies no reader
	defer tick.Stop()
	for {
		changed := v.Changed()
		if is() {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			live, since, err := v.Status()
			t.Fatalf("%s: never; the nodes are %+v, live %v since %v: %v", what, v.Nodes(), live, since, err)
		}
	}
}

func isLive(v *View) bool { live, _, _ := v.Status(); return live }

func follow(t *testing.T, config Config) *View {
	t.Helper()
	v, err := New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func TestRealConsul(t *testing.T) {
	t.Parallel()
	agent := testcluster.Consul(t, testcluster.ConsulOptions{})
	v := follow(t, Config{Address: agent.Address, Forget: 300 * time.Millisecond, wait: time.Second})
	until(t, v, "it is live", func() bool { return isLive(v) })
	warm := func(n *node) int { state, _ := v.Node(n.name); return state.Warm[digestOf("a")] }
	is := func(n *node, want func(cluster.NodeState) bool) func() bool {
		return func() bool { state, found := v.Node(n.name); return found && want(state) }
	}

	a, b := newNode(t, agent.Client, "node-a"), newNode(t, agent.Client, "node-b")
	a.write(1)
	b.write(2)
	until(t, v, "both are there", func() bool { return warm(a) == 1 && warm(b) == 2 })
	a.write(7)
	until(t, v, "a change shows", func() bool { return warm(a) == 7 })

	a.check(api.HealthCritical)
	until(t, v, "a check that fails shows", is(a, func(s cluster.NodeState) bool { return !s.Healthy }))
	a.check(api.HealthPassing)
	until(t, v, "and that it passes again", is(a, func(s cluster.NodeState) bool { return s.Healthy }))

	b.end()
	until(t, v, "a node that is gone is forgotten", func() bool { _, found := v.Node(b.name); return !found })
	b.hold()
	b.write(3)
	until(t, v, "it comes back", func() bool { return warm(b) == 3 })

	// Consul dies: the picture stays, and is said to be old.
	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, v, "it is not live without Consul", func() bool { return !isLive(v) })
	if warm(a) != 7 || len(v.Nodes()) != 2 {
		t.Errorf("without Consul the nodes are %+v", v.Nodes())
	}
	if err := agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, v, "it is live again", func() bool { return isLive(v) })
	a.write(9)
	until(t, v, "what comes after that shows", func() bool { return warm(a) == 9 })

	// Consul hangs: it neither refuses nor answers.
	if err := syscall.Kill(agent.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, v, "it is not live while Consul hangs", func() bool { return !isLive(v) })
	if err := syscall.Kill(agent.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, v, "it is live when Consul goes on", func() bool { return isLive(v) })
}

// Following costs little without changes, and rapid changes are taken together.
func TestManyNodes(t *testing.T) {
	t.Parallel()
	agent := testcluster.Consul(t, testcluster.ConsulOptions{})
	v := follow(t, Config{Address: agent.Address})
	const many = 64 // that one transaction may write
	session := newNode(t, agent.Client, "node-000")
	for round := range 20 {
		var writes api.KVTxnOps
		for i := range many {
			c := yurt.Capacity{Node: fmt.Sprintf("node-%03d", i), Address: "127.0.0.1:1", Templates: map[string]yurt.TemplateCapacity{digestOf("a"): {Warm: round + 1}}}
			writes = append(writes, &api.KVTxnOp{Verb: api.KVLock, Key: keyPrefix + c.Node, Value: marshal(t, c), Session: session.session})
		}
		if ok, answer, _, err := agent.Client.KV().Txn(writes, nil); err != nil || !ok {
			t.Fatalf("writing: %v, %+v", err, answer)
		}
	}
	until(t, v, "all are as they were written last", func() bool {
		for _, n := range v.Nodes() {
			if n.Warm[digestOf("a")] != 20 {
				return false
			}
		}
		return len(v.Nodes()) == many
	})
}
