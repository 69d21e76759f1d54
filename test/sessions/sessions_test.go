package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/executor/identity"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// template is the template of these tests' sessions: it needs no toolchain.
const template = "shell-basic"

// world is the cluster and a client of its API.
type world struct {
	*yurtcluster.Cluster
	*yurtclient.Client
}

// TestSessions goes through the life of sessions on one cluster, a part after the other.
func TestSessions(t *testing.T) {
	t.Parallel()
	c := yurtcluster.Test(t, yurtcluster.Options{})
	w := &world{c, contract.Client(t, c.URL())}
	for _, part := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"cold", testCold},
		{"refused", testRefused},
		{"reuse", testReuse},
		{"packages", testPackages},
		{"warm", testWarm},
		{"race", testRace},
		{"without Consul", testWithoutConsul},
		{"README", testReadme}, // of another template, which has a pool
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(t, w) }) {
			return // the next one would only fail of this
		}
	}
}

func (w *world) create(t *testing.T, req yurtclient.CreateSessionRequest) yurt.Session {
	t.Helper()
	req.TemplateID = template
	session, err := w.CreateSession(t.Context(), req)
	if err != nil {
		t.Fatalf("creating a session: %v", err)
	}
	return session
}

func (w *world) end(t *testing.T, session yurt.Session) {
	t.Helper()
	if _, err := w.EndSession(t.Context(), session.ID); err != nil {
		t.Fatalf("ending a session: %v", err)
	}
}

// sh runs a command in the session and returns its output.
func (w *world) sh(t *testing.T, session yurt.Session, command string) string {
	t.Helper()
	e, err := w.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: command}})
	if err != nil || e.Result == nil || e.Result.ExitCode != 0 {
		t.Fatalf("running %q: %+v, %v", command, e.Result, err)
	}
	return e.Result.Stdout
}

// jobs lists those of slots.
func (w *world) jobs(t *testing.T) []*nomad.JobListStub {
	t.Helper()
	list, _, err := w.Nomad.API.Jobs().List(&nomad.QueryOptions{Prefix: "yurt-"})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// testCold: without a warm sandbox Nomad starts a slot, whose job has no secret of the session, and
// is gone when the session is.
func testCold(t *testing.T, w *world) {
	session := w.create(t, yurtclient.CreateSessionRequest{
		Mode: yurt.ModePersistent, Env: map[string]string{"SECRET": "s3cret"}, Files: yurtclient.Files{"in/key": []byte("s3cret")},
	})
	if p := session.Placement; p.Kind != yurt.PlacementCold || p.Node != w.Nomad.Clients[0].Node || p.Phases["place"] <= 0 || p.Phases["await"] <= 0 {
		t.Errorf("it was placed %+v", p)
	}
	t.Logf("phases, measured under load: %v", session.Placement.Phases)
	if out := w.sh(t, session, "echo $SECRET; cat in/key"); out != "s3cret\ns3cret" {
		t.Errorf("it printed %q", out)
	}
	jobs := w.jobs(t)
	if len(jobs) != 1 || jobs[0].ID != "yurt-"+session.ID {
		t.Fatalf("the jobs are %+v", jobs)
	}
	job, _, err := w.Nomad.API.Jobs().Info(jobs[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := job.TaskGroups[0].Disconnect; d == nil || d.Replace == nil || *d.Replace || d.LostAfter == nil || *d.LostAfter < 24*time.Hour {
		t.Errorf("a client of Nomad that is away for a while costs the session: disconnect is %+v", d)
	}
	if text, err := json.Marshal(job); err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("the session's environment or its file is in its job: %s, %v", text, err)
	}
	w.end(t, session)
	testutil.Eventually(t, "the job is purged", func() bool { return len(w.jobs(t)) == 0 })
	testutil.Eventually(t, "nothing runs", func() bool { return w.containers(t) == 0 })
	w.once(t)
	w.full(t)
	testutil.Eventually(t, "nothing is left of it", func() bool { return w.containers(t) == 0 && len(w.jobs(t)) == 0 })
}

// full: a session whose files do not fit is not there at all.
func (w *world) full(t *testing.T) {
	t.Helper()
	files := yurtclient.Files{}
	for n := range 200 {
		files[fmt.Sprint("part-", n)] = make([]byte, 4097) // in two pages: less than the disk has, in more than it has
	}
	_, err := w.CreateSession(t.Context(), yurtclient.CreateSessionRequest{
		TemplateID: template, Resources: &yurtclient.Resources{Disk: yurt.MinDisk}, Files: files,
	})
	if yurt.CodeOf(err) != yurt.CodeWorkspaceFull || !strings.Contains(err.Error(), "part-") {
		t.Errorf("more than its workspace has room for: %v", err)
	}
}

// testPackages: a template's packages are installed at a node while it is created, which tells how
// that goes, and its sessions have them; a package that there is not fails the creation.
func testPackages(t *testing.T, w *world) {
	source := func(name, needs string) []byte {
		return []byte("template \"" + name + "\" {\n runtimes = [\"python\"]\n dependencies = { python = [\"" + needs + "\"] }\n}\n")
	}
	var said strings.Builder
	tell := func(text string) error { said.WriteString(text); return nil }
	_, err := w.CreateTemplateStream(t.Context(), source("broken", "yurt-no-such-package-7f3a"), tell)
	if yurt.CodeOf(err) != yurt.CodeTemplateInvalid || !strings.Contains(said.String(), "yurt-no-such-package-7f3a") {
		t.Errorf("a package that there is not: %v; told %q", err, said.String())
	}
	said.Reset()
	made, err := w.CreateTemplateStream(t.Context(), source("furnished", "humanize==4.9.0"), tell)
	if err != nil || !strings.Contains(said.String(), "humanize") {
		t.Fatalf("creating a template: %v; told %q", err, said.String())
	}
	session, err := w.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: made.Name, Mode: yurt.ModePersistent})
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Language: "python", Code: "import humanize; print(humanize.intcomma(1000))"})
	if err != nil || e.Result == nil || e.Result.Stdout != "1,000\n" {
		t.Fatalf("code that needs the package: %+v, %v", e.Result, err)
	}
	if _, installed := e.Result.Metrics.Phases["install"]; installed {
		t.Error("the package was installed again")
	}
	w.end(t, session)
	testutil.Eventually(t, "nothing runs", func() bool { return w.containers(t) == 0 && len(w.jobs(t)) == 0 })
}

func (w *world) containers(t *testing.T) int {
	t.Helper()
	list, err := w.Containers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// once: an ephemeral session is over with its one execution, and so is its job.
func (w *world) once(t *testing.T) {
	session := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModeEphemeral})
	if out := w.sh(t, session, "echo once"); out != "once\n" {
		t.Errorf("it printed %q", out)
	}
	testutil.Eventually(t, "an ephemeral session ends with its execution", func() bool {
		got, err := w.Session(t.Context(), session.ID)
		return err == nil && got.State == yurt.SessionTerminated && len(w.jobs(t)) == 0
	})
}

// testReadme: the README's requests to yurt dev work with a controller, unchanged.
func testReadme(t *testing.T, w *world) {
	session, err := w.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic", Mode: yurt.ModePersistent})
	if err != nil {
		t.Fatal(err)
	}
	readme.REST(t, w.URL(), session.ID)
	testutil.Eventually(t, "the session's job is purged", func() bool {
		return !slices.ContainsFunc(w.jobs(t), func(j *nomad.JobListStub) bool { return j.ID == "yurt-"+session.ID })
	})
}

// testRefused: a session that no node has room for is refused in Nomad's words, and leaves no job.
func testRefused(t *testing.T, w *world) {
	_, err := w.CreateSession(t.Context(), yurtclient.CreateSessionRequest{
		TemplateID: template, Resources: &yurtclient.Resources{Memory: yurt.MaxMemory},
	})
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "memory") {
		t.Errorf("more memory than any node has: %v", err)
	}
	t.Logf("it said: %v", err)
	testutil.Eventually(t, "no job is left", func() bool { return len(w.jobs(t)) == 0 })
}

// testReuse: an agent gets its session back.
func testReuse(t *testing.T, w *world) {
	req := yurtclient.CreateSessionRequest{AgentID: "agent", Reuse: true}
	first := w.create(t, req)
	w.sh(t, first, "echo kept > kept")
	again := w.create(t, req)
	if again.ID != first.ID || again.Placement.Kind != yurt.PlacementReused || w.sh(t, again, "cat kept") != "kept\n" {
		t.Errorf("it got %+v", again)
	}
	w.end(t, first)
}

// pool gives the warm pool a size and waits until so many are ready.
func (w *world) pool(t *testing.T, size yurt.PoolSize) {
	t.Helper()
	if _, err := w.SetPool(t.Context(), template, size.Change()); err != nil {
		t.Fatal(err)
	}
	w.ready(t, size.Min)
	testutil.Eventually(t, "there are no more slots than that", func() bool {
		nodes, err := w.Nodes(t.Context())
		return err == nil && len(nodes) == 1 && nodes[0].Slots == size.Min && nodes[0].Claimed == 0
	})
}

func (w *world) ready(t *testing.T, want int) {
	t.Helper()
	seen := yurt.Pool{}
	defer func() {
		if t.Failed() {
			t.Logf("the pool is %+v", seen)
		}
	}()
	testutil.Eventually(t, fmt.Sprintf("%d are ready", want), func() bool {
		pools, err := w.Pools(t.Context())
		if err != nil {
			return false
		}
		for _, p := range pools {
			if p.Template == template {
				seen = p
				return p.Ready == want
			}
		}
		return want == 0
	})
}

// testWarm: from a pool sandboxes are claimed at the node, and made again in the slots. The count
// of ready sandboxes is a moment old; a session that comes just after another may find it taken,
// and is cold then.
func testWarm(t *testing.T, w *world) {
	w.pool(t, yurt.PoolSize{Min: 2, Max: 2})
	for range 4 {
		var session yurt.Session
		testutil.Eventually(t, "a session is placed warm", func() bool {
			w.ready(t, 2)
			session = w.create(t, yurtclient.CreateSessionRequest{Env: map[string]string{"WHO": "me"}, Mode: yurt.ModePersistent})
			if session.Placement.Kind == yurt.PlacementWarm {
				return true
			}
			w.end(t, session)
			return false
		})
		if out := w.sh(t, session, "echo $WHO; ls | wc -l"); out != "me\n0\n" {
			t.Errorf("it printed %q", out)
		}
		w.end(t, session)
	}
	w.ready(t, 2)
	w.warmFiles(t)
}

// warmFiles: a warm sandbox has the files of the session that gets it, an ephemeral one's one
// execution too; for files that exceed its size a sandbox is made again.
func (w *world) warmFiles(t *testing.T) {
	t.Helper()
	testutil.Eventually(t, "a session with files is placed warm", func() bool {
		w.ready(t, 2)
		session := w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModeEphemeral, Files: yurtclient.Files{"in/data": []byte("mine\xff")}})
		out := w.sh(t, session, "stat -c '%u %a' in/data; od -An -tx1 in/data")
		if out != "1000 644\n 6d 69 6e 65 ff\n" {
			t.Errorf("it has %q", out)
		}
		_, hasPhase := session.Placement.Phases["node_files"]
		return hasPhase && session.Placement.Kind == yurt.PlacementWarm
	})
	w.full(t)
	w.ready(t, 2)
}

// testRace: 500 clients claim at once the sandbox of one slot, and one gets it. Another may get the
// sandbox of the next slot, which is opened when that one is claimed.
func testRace(t *testing.T, w *world) {
	w.pool(t, yurt.PoolSize{Min: 1, Max: 1})
	nodes, err := w.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("the nodes are %+v, %v", nodes, err)
	}
	source, err := identity.Open(identity.Files{
		Authorities: filepath.Join(w.Dir, "ca", identity.AuthorityFile),
		Certificate: filepath.Join(w.Dir, "controller1.pem"), Key: filepath.Join(w.Dir, "controller1-key.pem"),
	}, identity.RoleController, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.Template(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	var (
		clients sync.WaitGroup
		start   = make(chan struct{})
		session = yurt.NewSessionID() // of no session: the sweep destroys it, if the test does not
		won     = make(chan yurt.Sandbox, 500)
	)
	client, err := api.NewTLSClient(nodes[0].Address, nodes[0].Name, source)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range cap(won) {
		clients.Go(func() {
			<-start
			spec := yurt.SandboxSpec{
				ID: yurt.NewSandboxID(), Template: made, Resources: made.Resources.Or(yurt.DefaultResources()),
				Labels: map[string]string{yurt.SessionLabel: session},
			}
			sandbox, found, err := client.ClaimSandbox(t.Context(), spec)
			if err != nil {
				t.Errorf("a claim: %v", err)
			}
			if found {
				won <- sandbox
			}
		})
	}
	close(start)
	clients.Wait()
	close(won)
	if len(won) == 0 {
		t.Error("nobody got it")
	}
	slots := map[string]bool{}
	for sandbox := range won {
		if slots[sandbox.Slot] {
			t.Errorf("two got what slot %s has", sandbox.Slot)
		}
		slots[sandbox.Slot] = true
		if err := client.DestroySandbox(t.Context(), sandbox.ID); err != nil {
			t.Error(err)
		}
	}
	w.ready(t, 1)
}

// testWithoutConsul: with Consul away sessions and warm claims go on, and it is said.
func testWithoutConsul(t *testing.T, w *world) {
	w.pool(t, yurt.PoolSize{Min: 2, Max: 2})
	w.slots(t, 2) // those of the test before have ended: without Consul it would be too late to learn that
	if err := w.Consul.Kill(); err != nil {
		t.Fatal(err)
	}
	var session yurt.Session
	testutil.Eventually(t, "one is placed warm", func() bool { // the last known state may be ahead of the node
		session = w.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
		if session.Placement.Kind == yurt.PlacementWarm {
			return true
		}
		w.end(t, session)
		return false
	})
	testutil.Eventually(t, "it is said that Consul is away", func() bool { return len(w.warnings(t)) == 1 })
	if out := w.sh(t, session, "echo on"); out != "on\n" {
		t.Errorf("it printed %q", out)
	}
	w.end(t, session)
	if err := w.Consul.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "Consul is back", func() bool { return len(w.warnings(t)) == 0 })
	w.ready(t, 2)
	w.slots(t, 2)
}

// slots waits until the node is known with so many slots.
func (w *world) slots(t *testing.T, n int) {
	t.Helper()
	testutil.Eventually(t, "the node is known with its slots", func() bool {
		nodes, err := w.Nodes(t.Context())
		return err == nil && len(nodes) == 1 && nodes[0].Healthy && nodes[0].Slots == n
	})
}

// warnings are the warnings of /ready, which has to report that the controller is ready.
func (w *world) warnings(t *testing.T) []string {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, w.URL()+"/ready", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("it answered %d, %s, %v", res.StatusCode, answer, err)
	}
	var body struct{ Warnings []string }
	if err := json.Unmarshal(answer, &body); err != nil {
		t.Fatal(err)
	}
	return body.Warnings
}
