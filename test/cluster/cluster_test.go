package cluster

import (
	"strings"
	"testing"

	consul "github.com/hashicorp/consul/api"
	nomad "github.com/hashicorp/nomad/api"
)

// counter prints numbers until it is stopped.
const counter = `
job "counter" {
  type = "service"
  group "g" {
    task "count" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "n=0; while :; do n=$((n+1)); echo $n; sleep 0.05; done"]
      }
      kill_timeout = "1s"
    }
  }
}`

func TestOneAgent(t *testing.T) {
	t.Parallel()
	c := Nomad(t, Options{})
	c.Run(t, counter)
	alloc := c.WaitRunning(t, "counter")

	out, _, code := c.Exec(t, alloc, "count", "hello", "/bin/sh", "-c", "cat; exit 3")
	if out != "hello" || code != 3 {
		t.Errorf("a command in the task wrote %q and exited with %d, want hello and 3", out, code)
	}

	// The agent dies and comes back: the task lives on.
	agent := c.Clients[0]
	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	before := agent.PID()
	if err := agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if agent.PID() == before {
		t.Errorf("the agent was not started again: it is still process %d", before)
	}
	if after := c.WaitRunning(t, "counter"); after.ID != alloc.ID || after.TaskStates["count"].Restarts != 0 {
		t.Errorf("the task did not live on:%s", Describe(after))
	}
	if log := c.Logs(t, alloc, "count", "stdout"); !strings.HasPrefix(log, "1\n2\n3\n") {
		t.Errorf("its log does not begin with what it wrote first: %.40q", log)
	}
}

func TestServersAndClients(t *testing.T) {
	t.Parallel()
	agent := Consul(t, ConsulOptions{})
	c := Nomad(t, Options{Servers: 3, Clients: 2, Consul: agent.Address, ClientConfig: `client { meta { dir = "${dir}" } }`})
	nodes, _, err := c.API.Nodes().List(nil)
	if err != nil || len(nodes) != 2 {
		t.Fatalf("there are %d nodes, want 2: %v", len(nodes), err)
	}
	c.Run(t, `
job "spread" {
  type = "batch"
  group "g" {
    count = 2
    constraint { distinct_hosts = true }
    task "hello" {
      driver = "raw_exec"
      config { 
        command = "/bin/sh" 
        args = ["-c", "cat ${NOMAD_TASK_DIR}/meta"]
      }
      template {
        data        = "{{ env \"meta.dir\" }} of {{ env \"node.unique.name\" }}\n"
        destination = "local/meta"
      }
    }
  }
}`)
	for _, client := range c.Clients {
		alloc := c.WaitAlloc(t, "spread", "complete on "+client.Node, func(a *nomad.Allocation) bool {
			return a.NodeName == client.Node && a.ClientStatus == nomad.AllocClientStatusComplete
		})
		if got, want := c.Logs(t, alloc, "hello", "stdout"), client.Dir+" of "+client.Node+"\n"; got != want {
			t.Errorf("the task printed %q, want %q", got, want)
		}
	}
	services, _, err := agent.Client.Catalog().Service("nomad-client", "", nil)
	if err != nil || len(services) != 2 {
		t.Errorf("Consul knows %d clients of Nomad, want 2: %v", len(services), err)
	}
}

func TestConsulKeepsWhatItHad(t *testing.T) {
	t.Parallel()
	agent := Consul(t, ConsulOptions{})
	pair := &consul.KVPair{Key: "kept", Value: []byte("yes")}
	if _, err := agent.Client.KV().Put(pair, nil); err != nil {
		t.Fatal(err)
	}
	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _, err := agent.Client.KV().Get("kept", nil); err != nil || got == nil || string(got.Value) != "yes" {
		t.Errorf("after a crash the key is %v: %v", got, err)
	}
}
