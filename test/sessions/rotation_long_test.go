//go:build long

package sessions

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/identity"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/pgserver"
	"github.com/yurtrun/yurt/test/testutil"
	"github.com/yurtrun/yurt/test/yurtcluster"
)

// TestRotation replaces the authority of a cluster of two controllers and two nodes by the steps of docs/CLUSTER.md: while it is idle, and
// under load. Each part says in its log that it has taken over a step before the next one begins.
func TestRotation(t *testing.T) {
	s := &service{Cluster: yurtcluster.Test(t, yurtcluster.Options{Store: pgserver.Start(t).Database(), Nodes: 2, Port: "0"})}
	if _, err := s.StartController(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	tenants := []*tenant{s.unkeyed(t, "one"), s.unkeyed(t, "two")}
	s.rotate(t)
	for _, own := range tenants { // the first requests since the rotation
		for n, client := range own.clients {
			if err := own.run(t.Context(), client); err != nil {
				t.Errorf("after the idle cluster's rotation, %s at controller %d: %v", own.name, n+1, err)
			}
		}
	}
	old := s.oldCertificate(t)
	working := work(t, tenants...)
	var lasting sync.WaitGroup
	for _, own := range tenants {
		lasting.Go(func() { own.outlasts(t) })
	}
	working.goesOn(t)
	s.rotate(t)
	lasting.Wait()
	working.goesOn(t)
	working.end()
	if done := working.done.Load(); done < 200 {
		t.Errorf("%d executions succeeded over the rotation, want hundreds", done)
	} else {
		t.Logf("%d executions succeeded over the rotation", done)
	}
	s.admin = s.client(t, 0, "")
	s.refuses(t, old)
}

// unkeyed returns the clients of a server without keys, with a session of their own.
func (s *service) unkeyed(t *testing.T, name string) *tenant {
	t.Helper()
	own := &tenant{name: name}
	for n := range s.Controllers {
		own.clients = append(own.clients, s.client(t, n, ""))
	}
	var err error
	if own.session, err = own.clients[0].CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: template, Mode: yurt.ModePersistent}); err != nil {
		t.Fatal(err)
	}
	return own
}

// outlasts has an execution last from before the rotation until its connection has ended, and wants all of its output.
func (o *tenant) outlasts(t *testing.T) {
	const script = "for i in $(seq 60); do echo $i; sleep 1; done"
	e, err := o.clients[1].Execute(t.Context(), o.session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: script}})
	if err != nil {
		t.Errorf("the execution of %s that outlasts the rotation: %v", o.name, err)
		return
	}
	if lines := strings.Fields(e.Result.Stdout); len(lines) != 60 || e.Result.ExitCode != 0 {
		t.Errorf("the execution of %s that outlasts the rotation ended as %+v", o.name, e.Result)
	}
}

// rotate replaces the authority, and goes on when the logs of the parts say so.
func (s *service) rotate(t *testing.T) {
	t.Helper()
	controllers, executors := s.taken(t)
	err := s.ReplaceAuthority(func(step string) error {
		roles := []identity.Role{identity.RoleExecutor, identity.RoleController}
		switch {
		case strings.HasPrefix(step, "executors"):
			roles = roles[:1]
		case strings.HasPrefix(step, "controllers"):
			roles = roles[1:]
		}
		for _, role := range roles {
			if role == identity.RoleExecutor {
				executors++
			} else {
				controllers++
			}
		}
		begun := time.Now()
		testutil.Eventually(t, "all have taken over that "+step, func() bool {
			c, e := s.taken(t)
			return c == controllers && e == executors
		})
		t.Logf("%s: taken over within %s", step, time.Since(begun).Round(10*time.Millisecond))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// taken returns how many changes each controller and each executor has taken over, as their logs say: the least of each kind.
func (s *service) taken(t *testing.T) (controllers, executors int) {
	t.Helper()
	var logs [2][]string
	for _, controller := range s.Controllers {
		logs[0] = append(logs[0], controller.Log())
	}
	for _, client := range s.Nomad.Clients {
		log, err := os.ReadFile(filepath.Join(client.StateDir(), "executor.log"))
		if err != nil {
			t.Fatal(err)
		}
		logs[1] = append(logs[1], string(log))
	}
	least := func(logs []string) int {
		count := strings.Count(logs[0], "certificate replaced")
		for _, log := range logs[1:] {
			count = min(count, strings.Count(log, "certificate replaced"))
		}
		return count
	}
	return least(logs[0]), least(logs[1])
}
