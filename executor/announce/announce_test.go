package announce

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	consul "github.com/hashicorp/consul/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// node reports the capacities that the test sends.
type node chan yurt.Capacity

func (n node) WatchCapacity(ctx context.Context, each func(yurt.Capacity) error) error {
	for {
		select {
		case now := <-n:
			if err := each(now); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// world is a Consul with nodes that are announced to it.
type world struct {
	t     *testing.T
	agent *cluster.ConsulAgent
	ttl   time.Duration
}

func newWorld(t *testing.T) *world {
	t.Helper()
	testutil.NeedsSandboxes(t) // root, that is
	return &world{t: t, agent: cluster.Consul(t, cluster.ConsulOptions{}), ttl: 3 * time.Second}
}

// journal is a log that can be read while it is written.
type journal struct {
	mu sync.Mutex
	bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.Buffer.Write(p)
}

func (j *journal) has(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return bytes.Contains(j.Bytes(), []byte(text))
}

func (w *world) announcer(name, address string) (*Announcer, *journal) {
	w.t.Helper()
	log := &journal{}
	a, err := New(Config{
		Consul: w.agent.Address, Node: name, Address: address, Version: "v1", TTL: w.ttl,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return a, log
}

// run announces a node until the test ends or the answer is called.
func (w *world) run(name, address string) (_ node, log *journal, stop func()) {
	w.t.Helper()
	a, log := w.announcer(name, address)
	ctx, cancel := context.WithCancel(w.t.Context())
	n, done := make(node), make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx, n)
	}()
	stop = func() { cancel(); <-done }
	w.t.Cleanup(stop)
	return n, log, stop
}

// capacity returns the node's entry in Consul, nil if there is no entry.
func (w *world) capacity(name string) *yurt.Capacity {
	pair, _, err := w.agent.Client.KV().Get(KeyPrefix+name, nil)
	if err != nil || pair == nil {
		return nil
	}
	c := new(yurt.Capacity)
	if err := json.Unmarshal(pair.Value, c); err != nil {
		w.t.Errorf("the key holds %q: %v", pair.Value, err)
	}
	return c
}

func (w *world) untilSandboxes(name string, count int) {
	w.t.Helper()
	testutil.Eventually(w.t, "the announcement is up to date", func() bool {
		c := w.capacity(name)
		return c != nil && c.Sandboxes == count
	})
}

// healthy returns the executors whose check passes.
func (w *world) healthy() []*consul.ServiceEntry {
	list, _, err := w.agent.Client.Health().Service(ServiceName, "", true, nil)
	if err != nil {
		return nil
	}
	return list
}

func TestAnnounce(t *testing.T) {
	w := newWorld(t)
	n, _, stop := w.run("n1", "192.0.2.7:8701")
	n <- yurt.Capacity{Sandboxes: 1, Draining: true, Templates: map[string]yurt.TemplateCapacity{"d1": {Template: "t", Warm: 3}}}
	w.untilSandboxes("n1", 1)
	c := w.capacity("n1")
	if c.Node != "n1" || c.Address != "192.0.2.7:8701" || c.Version != "v1" || !c.Draining || c.Templates["d1"].Warm != 3 {
		t.Errorf("it is announced as %+v", c)
	}
	n <- yurt.Capacity{Sandboxes: 2}
	w.untilSandboxes("n1", 2)
	list := w.healthy()
	if len(list) != 1 || list[0].Service.Address != "192.0.2.7" || list[0].Service.Port != 8701 || list[0].Service.Meta["node"] != "n1" || list[0].Service.Meta["version"] != "v1" {
		t.Errorf("the service is %+v", list)
	}
	// One that listens on any address is known by that of the machine.
	m, _, _ := w.run("n2", "[::]:8702")
	m <- yurt.Capacity{Sandboxes: 5}
	w.untilSandboxes("n2", 5)
	if c := w.capacity("n2"); c.Address != w.agent.IP+":8702" {
		t.Errorf("it is announced at %s, want %s", c.Address, w.agent.IP)
	}
	stop()
	if c := w.capacity("n1"); c != nil {
		t.Errorf("after it was stopped there is %+v", c)
	}
	if list := w.healthy(); len(list) != 1 || list[0].Service.Meta["node"] != "n2" {
		t.Errorf("after it was stopped the service is %+v", list)
	}
}

// TestConsulMayGoAway: entries that Consul lost, and changes while it was away, are announced again.
func TestConsulMayGoAway(t *testing.T) {
	w := newWorld(t)
	n, log, _ := w.run("n1", "192.0.2.7:8701")
	n <- yurt.Capacity{Sandboxes: 1}
	w.untilSandboxes("n1", 1)
	if err := w.agent.Kill(); err != nil {
		t.Fatal(err)
	}
	n <- yurt.Capacity{Sandboxes: 2}
	testutil.Eventually(t, "the log says that it cannot be announced", func() bool { return log.has("cannot be announced") })
	n <- yurt.Capacity{Sandboxes: 3}
	if err := w.agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilSandboxes("n1", 3)
	testutil.Eventually(t, "its check passes", func() bool { return len(w.healthy()) == 1 })

	client := w.agent.Client
	pair, _, err := client.KV().Get(KeyPrefix+"n1", nil)
	if err != nil || pair == nil {
		t.Fatal(pair, err)
	}
	for what, undo := range map[string]func() error{
		"session": func() error { _, err := client.Session().Destroy(pair.Session, nil); return err },
		"key":     func() error { _, err := client.KV().Delete(KeyPrefix+"n1", nil); return err },
		"service": func() error { return client.Agent().ServiceDeregister(ServiceName + "-n1") },
	} {
		if err := undo(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		w.untilSandboxes("n1", 3)
		testutil.Eventually(t, "its check passes", func() bool { return len(w.healthy()) == 1 })
	}
}

// TestConsulIsStartedAgain: for it the executor is there before that has told it anything.
func TestConsulIsStartedAgain(t *testing.T) {
	w := newWorld(t)
	w.ttl = time.Hour // only a change is announced again
	n, _, _ := w.run("n1", "192.0.2.7:8701")
	n <- yurt.Capacity{Sandboxes: 1}
	w.untilSandboxes("n1", 1)
	if err := w.agent.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := w.agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	checks, err := w.agent.Client.Agent().Checks()
	if check := checks["service:"+ServiceName+"-n1"]; err != nil || check == nil || check.Status != consul.HealthPassing {
		t.Errorf("its check is %+v, %v", check, err)
	}
}

// TestConsulMayHang: an executor that Consul does not answer works on, and stops in time.
func TestConsulMayHang(t *testing.T) {
	w := newWorld(t)
	n, _, stop := w.run("n1", "192.0.2.7:8701")
	n <- yurt.Capacity{Sandboxes: 1}
	w.untilSandboxes("n1", 1)
	if err := syscall.Kill(w.agent.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(w.agent.PID(), syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	for i := range 100 { // the announcer never blocks its caller
		n <- yurt.Capacity{Sandboxes: i}
	}
	stop()
}

// TestKilledExecutor: the entry of a killed executor expires after a while, or is replaced at once when the executor
// starts again.
func TestKilledExecutor(t *testing.T) {
	w := newWorld(t)
	kill := func(name string) { // it announces and withdraws no more
		a, _ := w.announcer(name, "192.0.2.7:8701")
		a.capacity = &yurt.Capacity{Sandboxes: 7}
		ctx, cancel := context.WithCancel(t.Context())
		if err := a.live(ctx, cancel); ctx.Err() == nil {
			t.Fatal(err)
		}
		if w.capacity(name) == nil {
			t.Error("it was not announced")
		}
	}
	w.ttl = time.Second
	kill("gone")
	testutil.Eventually(t, "its key is gone", func() bool { return w.capacity("gone") == nil })
	testutil.Eventually(t, "its check fails", func() bool { return len(w.healthy()) == 0 })
	w.ttl = time.Hour
	kill("back")
	n, _, _ := w.run("back", "192.0.2.7:8701")
	n <- yurt.Capacity{Sandboxes: 8}
	w.untilSandboxes("back", 8)
}

// TestTwoNodesOfOneName: the second one gets an error, and the first one is not disturbed.
func TestTwoNodesOfOneName(t *testing.T) {
	w := newWorld(t)
	n, _, _ := w.run("n1", "192.0.2.7:8701")
	n <- yurt.Capacity{Sandboxes: 1}
	w.untilSandboxes("n1", 1)
	other := &world{t: t, ttl: w.ttl, agent: cluster.Consul(t, cluster.ConsulOptions{Join: []string{w.agent.IP}})}
	m, log, _ := other.run("n1", "192.0.2.8:8701")
	m <- yurt.Capacity{Sandboxes: 2}
	testutil.Eventually(t, "the log says that the name is taken", func() bool { return log.has("another executor goes by the name n1") })
	if c := w.capacity("n1"); c == nil || c.Sandboxes != 1 {
		t.Errorf("there is %+v", c)
	}
}

// TestPolicy: the rights that the documentation names suffice, and the token may change.
func TestPolicy(t *testing.T) {
	testutil.NeedsSandboxes(t)
	const management = "8f0c8c5e-6a0d-4f0e-9d3c-5b0f4a1f8d11"
	agent := cluster.Consul(t, cluster.ConsulOptions{Config: `acl {
  enabled = true
  default_policy = "deny"
  tokens {
    initial_management = "` + management + `"
    agent = "` + management + `"
  }
}`})
	client, err := consul.NewClient(&consul.Config{Address: agent.Address, Token: management})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), "docs", "CLUSTER.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rules, found := strings.Cut(string(text), "\nservice \"yurt-executor\"")
	rules, _, ended := strings.Cut(rules, "```")
	if !found || !ended {
		t.Fatal("the documentation names no policy")
	}
	policy, _, err := client.ACL().PolicyCreate(&consul.ACLPolicy{Name: "yurt-executor", Rules: "service \"yurt-executor\"" + rules}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := client.ACL().TokenCreate(&consul.ACLToken{Policies: []*consul.ACLTokenPolicyLink{{ID: policy.ID}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := &journal{}
	a, err := New(Config{Consul: agent.Address, TokenFile: file, Node: "n1", Address: ":8701", TTL: 3 * time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n, done := make(node), make(chan struct{})
	go func() { defer close(done); a.Run(ctx, n) }()
	defer func() { cancel(); <-done }()
	n <- yurt.Capacity{Sandboxes: 1}
	testutil.Eventually(t, "it is refused without a token", func() bool { return log.has("cannot be announced") })
	if err := os.WriteFile(file, []byte(token.SecretID+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, agent: &cluster.ConsulAgent{Client: client}}
	w.untilSandboxes("n1", 1)
	n <- yurt.Capacity{Sandboxes: 2}
	w.untilSandboxes("n1", 2)
	testutil.Eventually(t, "its check passes", func() bool { return len(w.healthy()) == 1 })
	cancel()
	<-done
	if c := w.capacity("n1"); c != nil || len(w.healthy()) != 0 {
		t.Errorf("after it was stopped there is %+v", c)
	}
}

func TestWrongSettings(t *testing.T) {
	for field, config := range map[string]Config{
		"advertise":         {Address: "here"},
		"consul-token-file": {Address: "a:1", TokenFile: "/none"},
		"consul":            {Address: "a:1", CAFile: "/none"},
	} {
		if _, err := New(config); yurt.CodeOf(err) != yurt.CodeInvalidArgument || err.Error()[:len(field)+1] != field+":" {
			t.Errorf("a wrong %s is %v", field, err)
		}
	}
}
