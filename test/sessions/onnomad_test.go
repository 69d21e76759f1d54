package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/identity"
	"github.com/yurtrun/yurt/jobspecs"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/rig"
)

// testOnNomad runs the controller itself on Nomad, by the job that ships: it asks Nomad in
// the name of its job, has its secrets from Nomad's variables, and is found through Consul
// when it is ready. A life that is killed is followed by the next, with the same sessions.
func testOnNomad(t *testing.T, w *world) {
	for _, controller := range w.Controllers { // this one has a store of its own
		if err := controller.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	putSecrets(t, w)
	runController(t, w)
	defer func() {
		if t.Failed() {
			t.Log(controllerLog(w))
		}
		if _, _, err := w.Nomad.API.Jobs().Deregister("yurt-controller", true, nil); err != nil {
			t.Error(err)
		}
	}()
	on := &world{w.Cluster, findController(t, w)}
	session := on.create(t, yurtclient.CreateSessionRequest{Mode: yurt.ModePersistent})
	if out := on.sh(t, session, "echo hello"); out != "hello\n" {
		t.Errorf("it printed %q", out)
	}

	alloc := w.Nomad.WaitRunning(t, "yurt-controller")
	if err := w.Nomad.API.Allocations().Signal(alloc, nil, "controller", "SIGKILL"); err != nil {
		t.Fatal(err)
	}
	w.Nomad.WaitAlloc(t, "yurt-controller", "restarted", func(a *nomad.Allocation) bool {
		return a.TaskStates["controller"].Restarts > 0 && a.TaskStates["controller"].State == "running"
	})
	rig.Eventually(t, "the next life goes on with the session", func() bool {
		e, err := on.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "echo again"}})
		return err == nil && e.Result != nil && e.Result.Stdout == "again\n"
	})
	on.end(t, session)
	rig.Eventually(t, "the session's job is purged", func() bool {
		jobs := w.jobs(t)
		return len(jobs) == 1 && jobs[0].ID == "yurt-controller"
	})
}

// putSecrets stores what the head of the job says.
func putSecrets(t *testing.T, w *world) {
	t.Helper()
	ca := filepath.Join(w.Dir, "ca")
	authority, err := identity.OpenAuthority(ca, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "controller.pem"), filepath.Join(dir, "controller-key.pem")
	if _, err := authority.Issue(identity.Name{Role: identity.RoleController, Name: "on-nomad"}, time.Hour, certificate, key); err != nil {
		t.Fatal(err)
	}
	variable := nomad.NewVariable("nomad/jobs/yurt-controller")
	variable.Items = nomad.VariableItems{}
	for name, file := range map[string]string{"tls_ca": filepath.Join(ca, identity.AuthorityFile), "tls_cert": certificate, "tls_key": key} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		variable.Items[name] = string(data)
	}
	if _, _, err := w.Nomad.API.Variables().Create(variable, nil); err != nil {
		t.Fatal(err)
	}
}

func runController(t *testing.T, w *world) {
	t.Helper()
	var variables strings.Builder
	for name, value := range map[string]string{"yurt": w.Program(), "consul": w.Consul.Address} {
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

// findController waits until Consul knows a controller that is ready, and returns a client.
func findController(t *testing.T, w *world) *yurtclient.Client {
	t.Helper()
	url := ""
	rig.Eventually(t, "Consul knows a controller that is ready", func() bool {
		entries, _, err := w.Consul.Client.Health().Service("yurt-controller", "", true, nil)
		if err != nil || len(entries) == 0 {
			return false
		}
		url = fmt.Sprintf("http://%s:%d", entries[0].Service.Address, entries[0].Service.Port)
		return true
	})
	client, err := yurtclient.New(url)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// controllerLog is what the controllers on Nomad printed.
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
