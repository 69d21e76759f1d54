//go:build long

package nomad

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestClientAway: a client is away for longer than its heartbeat. The tasks of jobs that have
// the block that docs/NOMAD.md shows go on, in the same allocations; a service that is to be
// replaced meanwhile is, and the first one stays.
func TestClientAway(t *testing.T) {
	testutil.NeedsSandboxes(t)
	n := &node{NomadCluster: cluster.Yurt(t, cluster.Options{Clients: 2}, "host_network = true")}
	n.example(t, "web")
	web := n.WaitRunning(t, "web")
	away := n.Clients[slices.IndexFunc(n.Clients, func(c *cluster.NomadAgent) bool { return c.Node == web.NodeName })]
	n.job(t, keptJob(away.Node))
	kept := n.WaitRunning(t, "kept")
	n.printed(t, kept, "begun\n")
	testutil.Eventually(t, "the service's deployment is over", func() bool { // until then Nomad replaces no part of it
		deployment, _, err := n.API.Jobs().LatestDeployment("web", nil)
		return err == nil && deployment != nil && deployment.Status == "successful"
	})
	if err := away.Kill(); err != nil {
		t.Fatal(err)
	}
	back := time.Now().Add(45 * time.Second)
	n.WaitNode(t, away.Node, "disconnected", func(s *nomad.NodeListStub) bool { return s.Status == nomad.NodeStatusDisconnected })
	second := n.WaitAlloc(t, "web", "running elsewhere", func(a *nomad.Allocation) bool {
		return a.NodeName != away.Node && a.ClientStatus == nomad.AllocClientStatusRunning
	})
	time.Sleep(time.Until(back))
	if err := away.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, job := range []string{"web", "kept"} {
		n.WaitAlloc(t, job, "the one of before, running", func(a *nomad.Allocation) bool {
			if a.ID != web.ID && a.ID != kept.ID {
				return false
			}
			if a.DesiredStatus != nomad.AllocDesiredStatusRun {
				t.Fatalf("Nomad stops it: %s", a.DesiredDescription)
			}
			return a.ClientStatus == nomad.AllocClientStatusRunning
		})
	}
	n.WaitAlloc(t, "web", "the second one, stopped", func(a *nomad.Allocation) bool {
		return a.ID == second.ID && a.DesiredStatus == nomad.AllocDesiredStatusStop
	})
	n.printed(t, kept, "begun\n") // once: it is the same process
}

// keptJob is a job with the block of docs/NOMAD.md, for one node.
func keptJob(node string) string {
	return fmt.Sprintf(`
job "kept" {
  type = "batch"
  constraint {
    attribute = "${node.unique.name}"
    value     = %q
  }
  group "g" {
    disconnect {
      lost_after = "24h"
      replace    = false
    }
    task "t" {
      driver = "yurt"
      config {
        command = "sh"
        args    = ["-c", "echo begun; while :; do sleep 1; done"]
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}`, node)
}
