package sessions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
	"github.com/yurtrun/yurt/test/pgserver"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// several is a cluster whose controllers share a store.
type several struct {
	*yurtcluster.Cluster
	store   *pgserver.Server
	clients []*world // one for each controller that was started
}

// TestSeveral goes through the faults of controllers that share a store, and of their nodes.
func TestSeveral(t *testing.T) {
	t.Parallel()
	store := pgserver.Start(t)
	c := &several{Cluster: yurtcluster.Test(t, yurtcluster.Options{Store: store.Database(), Nodes: 2, Port: "0"}), store: store}
	c.client(t, 0)
	c.add(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *several)
	}{
		{"a controller is killed", testControllerIsKilled},
		{"a template is prepared", testTemplateIsPrepared},
		{"an executor moves", testExecutorMoves},
		{"a node is drained", testNodeIsDrained},
		{"the store is killed", testStoreIsKilled},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(t, c) }) {
			return // the next one would only fail of this
		}
	}
}

func (c *several) client(t *testing.T, n int) *world {
	t.Helper()
	c.clients = append(c.clients, &world{c.Cluster, contract.Client(t, c.Controllers[n].URL)})
	return c.clients[n]
}

func (c *several) add(t *testing.T) *world {
	t.Helper()
	if _, err := c.StartController(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return c.client(t, len(c.Controllers)-1)
}

var errEnough = errors.New("enough was seen")

// testControllerIsKilled: an execution that one controller began is watched, written to and
// ended at another one, which leads then.
func testControllerIsKilled(t *testing.T, c *several) {
	first, second := c.clients[0], c.clients[1]
	if first, second := c.Leads(t, 0), c.Leads(t, 1); !first || second {
		t.Errorf("the first one leads: %v, the second one: %v", first, second)
	}
	asked := yurtclient.CreateSessionRequest{
		Mode: yurt.ModePersistent, Files: yurtclient.Files{"given": []byte("one\n")}, IdempotencyKey: "given",
	}
	session := first.create(t, asked)
	if same := second.create(t, asked); same.ID != session.ID {
		t.Errorf("at the other controller the same request made %s", same.ID)
	}
	asked.Files["given"], asked.TemplateID = []byte("two\n"), template
	if _, err := second.CreateSession(t.Context(), asked); yurt.CodeOf(err) != yurt.CodeIdempotencyConflict {
		t.Errorf("with another file the same key: %v", err)
	}
	e, err := first.Start(t.Context(), session.ID, yurtclient.ExecuteRequest{
		Command: yurtclient.Command{Shell: "cat given; while [ ! -e go ]; do sleep 0.05; done; echo two"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var (
		seen strings.Builder
		last uint64
	)
	watch := func(event yurt.Event) error {
		if event.Seq != last+1 {
			t.Errorf("event %d follows %d", event.Seq, last)
		}
		last = event.Seq
		if seen.Write(event.Data); seen.String() == "one\n" && event.Type == yurt.EventStdout {
			return errEnough
		}
		return nil
	}
	if err := first.WatchExecution(t.Context(), session.ID, e.ID, 0, watch); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if err := c.Controllers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if _, err := second.PutFile(t.Context(), session.ID, "go", strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	if err := second.WatchExecution(t.Context(), session.ID, e.ID, last, watch); err != nil || seen.String() != "one\ntwo\n" {
		t.Errorf("watched %q, %v", seen.String(), err)
	}
	testutil.Eventually(t, "the other one leads", func() bool { return c.Leads(t, 1) })
	t.Logf("the other one leads, and has stored the result, %s after the first was killed; measured under load", time.Since(killed).Round(time.Millisecond))
	got, err := second.Result(t.Context(), session.ID, e.ID)
	if err != nil || got.Result.Stdout != "one\ntwo\n" || got.Result.Error != nil {
		t.Errorf("%+v, %v", got.Result, err)
	}
	third := c.add(t)
	if out := third.sh(t, session, "echo works"); out != "works\n" {
		t.Errorf("it printed %q", out)
	}
	third.end(t, session)
}

// testTemplateIsPrepared: all nodes install a template's packages at one request, and no session waits for that.
func testTemplateIsPrepared(t *testing.T, c *several) {
	w := c.clients[1]
	source := "template \"prepared\" {\n runtimes = [\"python\"]\n dependencies = { python = [\"humanize==4.9.0\"] }\n}\n"
	if _, err := w.CreateTemplate(t.Context(), []byte(source)); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	nodes, err := w.PrepareTemplate(t.Context(), "prepared", func(text string) error { said.WriteString(text); return nil })
	if err != nil || len(nodes) != len(c.Nomad.Clients) {
		t.Fatalf("the nodes %q are ready, of %d; %v", nodes, len(c.Nomad.Clients), err)
	}
	for _, node := range nodes {
		if !strings.Contains(said.String(), "node "+node+": ready\n") {
			t.Errorf("the progress does not say that %s is ready: %q", node, said.String())
		}
	}
	c.runsPrepared(t, w, c.runsPrepared(t, w, ""))
	if _, err := w.PrepareTemplate(t.Context(), "there-is-none", func(string) error { return nil }); yurt.CodeOf(err) != yurt.CodeTemplateNotFound {
		t.Errorf("preparing a template that is not there: %v", err)
	}
}

// runsPrepared runs code that needs the package in a session, which Nomad does not place on the node that is given,
// and returns the session's node.
func (c *several) runsPrepared(t *testing.T, w *world, without string) string {
	t.Helper()
	stubs, _, err := c.Nomad.API.Nodes().List(nil)
	if err != nil {
		t.Fatal(err)
	}
	eligible := func(without string) {
		for _, stub := range stubs {
			if _, err := c.Nomad.API.Nodes().ToggleEligibility(stub.ID, stub.Name != without, nil); err != nil {
				t.Error(err)
			}
		}
	}
	eligible(without)
	defer eligible("")
	session, err := w.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "prepared"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.end(t, session)
	e, err := w.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Code: "import humanize; print(humanize.intcomma(1000))"})
	if err != nil || e.Result == nil || e.Result.Stdout != "1,000\n" || session.Placement.Node == without {
		t.Fatalf("code that needs the package, on node %s: %+v, %v", session.Placement.Node, e.Result, err)
	}
	if _, installed := e.Result.Metrics.Phases["install"]; installed {
		t.Errorf("node %s installed the package for the session", session.Placement.Node)
	}
	return session.Placement.Node
}

// testExecutorMoves: an executor whose broker is killed too serves at another port, once both are started again. Clients
// that follow its executions move on with it.
func testExecutorMoves(t *testing.T, c *several) {
	w, other := c.clients[1], c.clients[2]
	session := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	e, err := w.Start(t.Context(), session.ID, yurtclient.ExecuteRequest{
		Command: yurtclient.Command{Shell: "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two"},
	})
	if err != nil {
		t.Fatal(err)
	}
	before := c.address(t, session.Placement.Node)
	var watchers sync.WaitGroup
	for _, watching := range []*world{w, other} { // the one that follows it, and one that does not
		begun := make(chan struct{})
		watchers.Go(func() {
			seen := ""
			err := watching.WatchExecution(t.Context(), session.ID, e.ID, 0, func(event yurt.Event) error {
				if seen += string(event.Data); seen == "one\n" && event.Type == yurt.EventStdout {
					close(begun)
				}
				return nil
			})
			if err != nil || seen != "one\ntwo\n" {
				t.Errorf("watched %q, %v", seen, err)
			}
		})
		<-begun
	}
	c.killBroker(t, session.Placement.Node)
	testutil.Eventually(t, "it is announced elsewhere", func() bool {
		now := c.address(t, session.Placement.Node)
		return now != "" && now != before
	})
	testutil.Eventually(t, "it is reached there", func() bool {
		_, err := other.PutFile(context.WithoutCancel(t.Context()), session.ID, "go", strings.NewReader(""))
		return err == nil
	})
	watchers.Wait()
	var got yurt.Execution
	testutil.Eventually(t, "the result is stored", func() (stored bool) {
		got, err = w.Result(context.WithoutCancel(t.Context()), session.ID, e.ID)
		return err == nil && got.Result != nil
	})
	if got.Result.Stdout != "one\ntwo\n" || got.Result.Error != nil {
		t.Errorf("the result is %+v, %+v", got.Result, got.Result.Error)
	}
	w.end(t, session)
}

// address is where the node's executor serves controllers.
func (c *several) address(t *testing.T, node string) string {
	t.Helper()
	nodes, err := c.clients[1].Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.Name == node {
			return n.Address
		}
	}
	return ""
}

func (c *several) killBroker(t *testing.T, node string) {
	t.Helper()
	for _, client := range c.Nomad.Clients {
		if client.Node != node {
			continue
		}
		pid, err := client.BrokerPID()
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// testNodeIsDrained: its sessions end with the reason, and new ones go to the other node.
func testNodeIsDrained(t *testing.T, c *several) {
	w := c.clients[2]
	session := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	node := session.Placement.Node
	drain, err := w.DrainNode(t.Context(), node, yurt.Duration(2*time.Second))
	if err != nil || !drain.Draining || drain.Sessions != 1 {
		t.Fatalf("%+v, %v", drain, err)
	}
	testutil.Eventually(t, "it is listed so", func() bool {
		nodes, err := w.Nodes(context.WithoutCancel(t.Context()))
		return err == nil && slices.ContainsFunc(nodes, func(n yurt.NodeInfo) bool { return n.Name == node && n.Draining })
	})
	other := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	if other.Placement.Node == node {
		t.Error("a session is placed on a node that drains")
	}
	testutil.Eventually(t, "the session ends", func() bool {
		s, err := w.Session(context.WithoutCancel(t.Context()), session.ID)
		return err == nil && s.State == yurt.SessionTerminated && s.Reason == "its node "+node+" is drained"
	})
	if drain, err := w.UndrainNode(t.Context(), node); err != nil || drain.Draining {
		t.Errorf("%+v, %v", drain, err)
	}
	w.end(t, other)
}

// testStoreIsKilled: executions go on, requests are refused with a time to wait, and work once the
// store is back.
func testStoreIsKilled(t *testing.T, c *several) {
	w := c.clients[1]
	session := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	e, err := w.Start(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "sleep 1; echo done"}})
	if err != nil {
		t.Fatal(err)
	}
	c.store.Kill()
	_, err = w.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: template})
	if yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("without a store it answers %v", err)
	}
	c.store.Restart()
	testutil.Eventually(t, "requests are served", func() bool {
		_, err := w.Session(context.WithoutCancel(t.Context()), session.ID)
		return err == nil
	})
	testutil.Eventually(t, "the result is stored", func() bool {
		got, err := c.clients[2].Result(context.WithoutCancel(t.Context()), session.ID, e.ID)
		return err == nil && got.Result != nil && got.Result.Stdout == "done\n"
	})
	testutil.Eventually(t, "the session ends, once the controller has compared clocks with the store", func() bool {
		_, err := w.EndSession(context.WithoutCancel(t.Context()), session.ID)
		return err == nil
	})
	testutil.Eventually(t, "no slot is left of a session", func() bool { return len(w.jobs(t)) == 0 })
}
