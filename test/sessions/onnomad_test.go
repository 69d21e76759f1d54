package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	consul "github.com/hashicorp/consul/api"
	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/identity"
	"github.com/yurtrun/yurt/jobspecs"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/pgserver"
	"github.com/yurtrun/yurt/test/testutil"
)

// testOnNomad runs two controllers on a Nomad that asks for tokens, by the job that ships: they ask it in the name of their
// job, with the rights that its head lists, have their secrets from Nomad's variables, the store's among them, and are found
// through Consul when they are ready. When one is killed the other goes on with its sessions, and so does its own next life.
func testOnNomad(t *testing.T, w *world) {
	stopControllers(t, w)
	turnACLsOn(t, w)
	putSecrets(t, w, pgserver.Start(t).Database())
	runControllers(t, w, nil)
	defer endControllers(t, w)
	allocs, clients := findControllers(t, w)
	one, other := &world{w.Cluster, clients[0]}, &world{w.Cluster, clients[1]}
	session := one.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	if out := other.sh(t, session, "echo hello"); out != "hello\n" {
		t.Errorf("it printed %q", out)
	}

	if err := w.Nomad.API.Allocations().Signal(&nomad.Allocation{ID: allocs[0]}, nil, "controller", "SIGKILL"); err != nil {
		t.Fatal(err)
	}
	if out := other.sh(t, session, "echo meanwhile"); out != "meanwhile\n" {
		t.Errorf("it printed %q", out)
	}
	w.Nomad.WaitAlloc(t, "yurt-controller", "restarted", func(a *nomad.Allocation) bool {
		return a.ID == allocs[0] && a.TaskStates["controller"].Restarts > 0 && a.TaskStates["controller"].State == "running"
	})
	testutil.Eventually(t, "the next life goes on with the session", func() bool {
		e, err := one.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "echo again"}})
		return err == nil && e.Result != nil && e.Result.Stdout == "again\n"
	})
	one.end(t, session)
	testutil.Eventually(t, "the session's job is purged", func() bool {
		jobs := w.jobs(t)
		return len(jobs) == 1 && jobs[0].ID == "yurt-controller"
	})
}

// stopControllers ends those that the cluster began with: they have a store of their own.
func stopControllers(t *testing.T, w *world) {
	t.Helper()
	for _, controller := range w.Controllers {
		if err := controller.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// putSecrets stores the secrets as the head of the job instructs.
func putSecrets(t *testing.T, w *world, store string) {
	t.Helper()
	dir := t.TempDir()
	certifyController(t, w, dir)
	variable := nomad.NewVariable("nomad/jobs/yurt-controller")
	variable.Items = nomad.VariableItems{"store": store}
	for name, file := range map[string]string{"tls_ca": identity.AuthorityFile, "tls_cert": "controller.pem", "tls_key": "controller-key.pem"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		variable.Items[name] = string(data)
	}
	if _, _, err := w.Nomad.API.Variables().Create(variable, nil); err != nil {
		t.Fatal(err)
	}
}

// certifyController makes, in dir, the certificates of a controller that is on Nomad.
func certifyController(t *testing.T, w *world, dir string) {
	t.Helper()
	ca := filepath.Join(w.Dir, "ca")
	authority, err := identity.OpenAuthority(ca, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	name := identity.Name{Role: identity.RoleController, Name: "on-nomad"}
	if _, err := authority.Issue(name, time.Hour, filepath.Join(dir, "controller.pem"), filepath.Join(dir, "controller-key.pem")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(ca, identity.AuthorityFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, identity.AuthorityFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// controllers is how many run on Nomad.
const controllers = 2

// runControllers runs the job as it ships, with further variables.
func runControllers(t *testing.T, w *world, more map[string]string) {
	t.Helper()
	var variables strings.Builder
	fmt.Fprintf(&variables, "count = %d\n", controllers)
	values := map[string]string{"yurt": w.Program(), "consul": w.Consul.Address}
	maps.Copy(values, more)
	for name, value := range values {
		quoted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&variables, "%s = %s\n", name, quoted)
	}
	job, err := w.Nomad.API.Jobs().ParseHCLOpts(&nomad.JobsParseRequest{JobHCL: jobspecs.Controller(), Variables: variables.String(), Canonicalize: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Nomad.API.Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
}

// endControllers purges the job, and waits until no task of it runs.
func endControllers(t *testing.T, w *world) {
	t.Helper()
	if t.Failed() {
		t.Log(controllerLog(w))
	}
	if _, _, err := w.Nomad.API.Jobs().Deregister("yurt-controller", true, nil); err != nil {
		t.Error(err)
	}
	testutil.Eventually(t, "the controllers have ended", func() bool { return len(found(t, w)) == 0 })
}

// found are the controllers that Consul knows to be ready.
func found(t *testing.T, w *world) []*consul.ServiceEntry {
	t.Helper()
	entries, _, err := w.Consul.Client.Health().Service("yurt-controller", "", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// findControllers waits until Consul knows that all are ready. It returns the ids of their
// allocations, and clients, in the same order.
func findControllers(t *testing.T, w *world) (allocs []string, clients []*yurtclient.Client) {
	t.Helper()
	testutil.Eventually(t, "Consul knows the controllers, and that they are ready", func() bool { return len(found(t, w)) == controllers })
	for _, entry := range found(t, w) {
		url := fmt.Sprintf("http://%s:%d", entry.Service.Address, entry.Service.Port)
		testutil.Eventually(t, "the controller at "+url+" is ready", func() bool { return isReady(t, url) }) // Consul looks every few seconds
		client, err := yurtclient.New(url)
		if err != nil {
			t.Fatal(err)
		}
		of := w.Nomad.WaitAlloc(t, "yurt-controller", "that of "+entry.Service.ID, func(a *nomad.Allocation) bool {
			return strings.Contains(entry.Service.ID, a.ID)
		})
		allocs, clients = append(allocs, of.ID), append(clients, client)
	}
	return allocs, clients
}

func isReady(t *testing.T, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/ready", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// controllerLog is the output of the controllers on Nomad.
func controllerLog(w *world) string {
	var all strings.Builder
	for _, client := range w.Nomad.Clients {
		logs, err := filepath.Glob(filepath.Join(client.Dir, "data", "alloc", "*", "alloc", "logs", "controller.stderr.*"))
		for _, name := range logs {
			data, readErr := os.ReadFile(name)
			err = errors.Join(err, readErr)
			all.Write(data)
		}
		if err != nil {
			fmt.Fprintln(&all, err)
		}
	}
	return all.String()
}
