package nomad

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
	"github.com/yurtrun/yurt/jobspecs"
	testcluster "github.com/yurtrun/yurt/test/cluster"
)

const patience = 90 * time.Second // for each wait, also on a slow machine

// newEngine returns an engine of the cluster. The subject is Nomad's handling of jobs, so their driver is one that every node
// has; the processes that they start do not matter.
func newEngine(t *testing.T, c *testcluster.NomadCluster) *Engine {
	t.Helper()
	e, err := New(t.Context(), Config{Address: c.Servers[0].Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	e.facts.spec.job.TaskGroups[0].Tasks[e.facts.spec.slot].Driver = "raw_exec"
	return e
}

func orderOf(id string) cluster.Order {
	return cluster.Order{SlotID: id, SessionID: "sess_" + id, Template: yurt.Template{Name: "python"}, Resources: yurt.Resources{CPU: 0.01, Memory: 10 << 20, Disk: 1 << 20, PIDs: 8}}
}

// gone waits until Nomad knows no job of the slot.
func gone(t *testing.T, c *testcluster.NomadCluster, slot string) {
	t.Helper()
	eventually(t, "the job of slot "+slot+" is gone", func() error {
		job, _, err := c.API.Jobs().Info(jobID(slot), nil)
		if status(err) == 404 {
			return nil
		}
		return errors.Join(fmt.Errorf("it is there: %+v", job), err)
	})
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for err := check(); err != nil; err = check() {
		if ctx.Err() != nil {
			t.Fatalf("%s: never: %v", what, err)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

func TestRealNomad(t *testing.T) {
	t.Parallel()
	c := testcluster.Nomad(t, testcluster.Options{})
	for name, test := range map[string]func(*testing.T, *testcluster.NomadCluster){
		"a slot is placed, listed and removed":        placedListedRemoved,
		"what does not fit is said in Nomad's words":  tooMuch,
		"a driver that no node has":                   noDriver,
		"a caller who leaves leaves no job":           callerLeaves,
		"a burst is placed, and none of it twice":     burst,
		"an operator who purges a job harms no other": purged,
		"a slot whose task the driver refuses":        taskRefused,
		"a slot that an operator stops":               stopped,
		"a namespace that is not there":               noNamespace,
		"a jobspec that Nomad does not read":          badJobspec,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
	t.Run("Nomad's server is killed and comes back", func(t *testing.T) { serverKilled(t, c) })
}

// taskRefused: the allocation shows that a slot failed.
func taskRefused(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c) // whose jobs raw_exec cannot start: they name no command
	if _, err := e.Start(t.Context(), orderOf("refused")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is said that the slot failed", func() error {
		_, err := e.Where(t.Context(), "refused")
		if yurt.CodeOf(err) != yurt.CodeSandboxFailed || !strings.Contains(err.Error(), "command") {
			return fmt.Errorf("it said %w", cmp.Or(err, errors.New("nothing")))
		}
		return nil
	})
	if err := e.Stop(t.Context(), "refused"); err != nil {
		t.Error(err)
	}
}

// stopped: so is that an operator stopped its job, or removed it.
func stopped(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	for slot, purge := range map[string]bool{"stopped": false, "removed": true} {
		if _, err := e.Start(t.Context(), orderOf(slot)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.API.Jobs().Deregister(jobID(slot), purge, nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is said that the slot has ended", func() error {
			if _, err := e.Where(t.Context(), slot); yurt.CodeOf(err) != yurt.CodeSandboxFailed {
				return fmt.Errorf("it said %w", cmp.Or(err, errors.New("nothing")))
			}
			return nil
		})
		if err := e.Stop(t.Context(), slot); err != nil {
			t.Error(err)
		}
	}
}

func placedListedRemoved(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	order := orderOf("placed")
	order.Resources.CPU, order.Prefer = 0.5, []string{"nobody", c.Clients[0].Node}
	for range 2 { // the second time it is there
		node, err := e.Start(t.Context(), order)
		if err != nil || node != c.Clients[0].Node {
			t.Fatalf("placed on %q, error %v; want %q", node, err, c.Clients[0].Node)
		}
	}
	job, _, err := c.API.Jobs().Info(jobID("placed"), nil)
	if err != nil {
		t.Fatal(err)
	}
	task := job.TaskGroups[0].Tasks[0]
	mhz, err := e.facts.mhzPerCore(t.Context())
	if err != nil || *task.Resources.CPU < int(mhz/2) || *task.Resources.CPU > int(mhz/2)+1 || *task.Resources.MemoryMB != 10 {
		t.Errorf("half a core is %d MHz of %v, and 10 MiB %d MB (%v)", *task.Resources.CPU, mhz, *task.Resources.MemoryMB, err)
	}
	if *job.TaskGroups[0].RestartPolicy.Attempts != 0 || *job.TaskGroups[0].ReschedulePolicy.Attempts != 0 || !*task.LogConfig.Disabled {
		t.Errorf("the job is restarted, rescheduled or logged: %+v", job.TaskGroups[0])
	}
	jobs, err := e.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := cluster.Job{}
	for _, one := range jobs {
		if one.SlotID == "placed" {
			found = one
		}
	}
	if found.SessionID != order.SessionID || found.Digest != order.Template.Digest() || found.Node != c.Clients[0].Node || time.Since(found.Since) > time.Hour {
		t.Errorf("listed is %+v", found)
	}
	for range 2 { // the second time it is not there
		if err := e.Stop(t.Context(), "placed"); err != nil {
			t.Fatal(err)
		}
	}
	gone(t, c, "placed")
}

func tooMuch(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	order := orderOf("big")
	order.Resources.Memory = 4 << 40
	_, err := e.Start(t.Context(), order)
	if yurt.CodeOf(err) != yurt.CodeOverloaded || !strings.Contains(err.Error(), "no node has 4Ti of memory free") || !strings.Contains(err.Error(), `Dimension "memory" exhausted on 1 nodes`) {
		t.Errorf("error %v (%s)", err, yurt.CodeOf(err))
	}
	// The same slot at once again, smaller: the job before it does not take it along.
	order.Resources.Memory = 10 << 20
	if _, err := e.Start(t.Context(), order); err != nil {
		t.Error(err)
	}
	if err := e.Stop(t.Context(), "big"); err != nil {
		t.Error(err)
	}
	gone(t, c, "big")
}

func noDriver(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	e.facts.spec.job.TaskGroups[0].Tasks[0].Driver = driver
	_, err := e.Start(t.Context(), orderOf("nodriver"))
	if yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "missing drivers") {
		t.Errorf("error %v (%s)", err, yurt.CodeOf(err))
	}
	gone(t, c, "nodriver")
}

func callerLeaves(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*4*time.Millisecond)
			defer cancel()
			if _, err := e.Start(ctx, orderOf(fmt.Sprintf("left%d", i))); err == nil {
				// In time: then it is the caller's to end.
				if err := e.Stop(t.Context(), fmt.Sprintf("left%d", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		gone(t, c, fmt.Sprintf("left%d", i))
	}
}

func burst(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	const size = 60
	var wg sync.WaitGroup
	for i := range size {
		wg.Go(func() {
			order := orderOf(fmt.Sprintf("burst%d", i))
			if i%2 == 0 {
				order.SessionID = ""
			}
			if _, err := e.Start(t.Context(), order); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	jobs, err := e.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, job := range jobs {
		if !strings.HasPrefix(job.SlotID, "burst") {
			continue
		}
		count++
		wg.Go(func() {
			if err := e.Stop(t.Context(), job.SlotID); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if count != size {
		t.Errorf("%d jobs are listed; want %d", count, size)
	}
}

func purged(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	for _, slot := range []string{"mine", "other"} {
		if _, err := e.Start(t.Context(), orderOf(slot)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.API.Jobs().Deregister(jobID("mine"), true, nil); err != nil {
		t.Fatal(err)
	}
	jobs, err := e.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, job := range jobs {
		left[job.SlotID] = true
	}
	if left["mine"] || !left["other"] {
		t.Errorf("listed are %v", left)
	}
	for _, slot := range []string{"mine", "other"} {
		if err := e.Stop(t.Context(), slot); err != nil {
			t.Error(err)
		}
	}
}

func noNamespace(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	wrong := "nowhere"
	e.facts.spec.job.Namespace = &wrong
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := e.Start(ctx, orderOf("nowhere")); err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("error %v; want Nomad's word on the namespace, and at once", err)
	}
}

func badJobspec(t *testing.T, c *testcluster.NomadCluster) {
	for _, text := range []string{`job "x" {`, `job "x" { group "g" { task "t" { driver = "raw_exec" } } }`} {
		e, err := New(t.Context(), Config{Address: c.Servers[0].Address, Jobspec: text})
		if err == nil {
			e.Close()
			t.Errorf("%s is taken", text)
		}
	}
}

func serverKilled(t *testing.T, c *testcluster.NomadCluster) {
	e := newEngine(t, c)
	if _, err := e.Start(t.Context(), orderOf("before")); err != nil {
		t.Fatal(err)
	}
	if err := c.Servers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() {
		_, err := e.Start(t.Context(), orderOf("during"))
		started <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := e.Stop(ctx, "before"); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("stopping while Nomad is away: error %v (%s)", err, yurt.CodeOf(err))
	}
	if err := c.Servers[0].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-started:
		if err != nil {
			t.Errorf("an order during the restart: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("an order during the restart is never placed")
	}
	if _, err := e.Start(t.Context(), orderOf("after")); err != nil {
		t.Error(err)
	}
	for _, slot := range []string{"before", "during", "after"} {
		if err := e.Stop(t.Context(), slot); err != nil {
			t.Error(err)
		}
	}
}

// The policy that jobspecs/controller.nomad.hcl names is enough, and without a token the operator is told which right is missing.
func TestRealNomadWithACLs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs Nomad; run without -short")
	}
	server, err := testcluster.StartNomad(t.Context(), testcluster.NomadOptions{Server: true, Config: "acl { enabled = true }"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("ending Nomad: %v", err)
		}
	})
	var management *api.ACLToken
	eventually(t, "there is a first token", func() (err error) { // which takes a leader
		management, _, err = server.API.ACLTokens().Bootstrap(nil)
		return err
	})
	as := &api.WriteOptions{AuthToken: management.SecretID}
	policy := &api.ACLPolicy{Name: "yurt-controller", Rules: policyIn(t, jobspecs.Controller())}
	if _, err := server.API.ACLPolicies().Upsert(policy, as); err != nil {
		t.Fatal(err)
	}
	token, _, err := server.API.ACLTokens().Create(&api.ACLToken{Type: "client", Policies: []string{policy.Name}}, as)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), Config{Address: server.Address}); status(err) != http.StatusForbidden {
		t.Errorf("without a token: %v", err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token.SecretID+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := New(t.Context(), Config{Address: server.Address, TokenFile: file})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Start(t.Context(), orderOf("a")); yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "No nodes were eligible") {
		t.Errorf("error %v", err)
	}
	if _, err := e.Jobs(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := e.NodesNotReady(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("00000000-0000-0000-0000-000000000000"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.Stop(t.Context(), "a"); yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "refuses the controller's token") {
		t.Errorf("with a token that is no more: %v", err)
	}
}

// policyIn returns the policy that the comment at the head of the controller's job shows.
func policyIn(t *testing.T, job string) string {
	t.Helper()
	_, after, found := strings.Cut(job, "<<POLICY\n")
	text, _, ends := strings.Cut(after, "POLICY\n")
	if !found || !ends {
		t.Fatal("the job shows no policy")
	}
	return strings.ReplaceAll(text, "#     ", "")
}
