package nomad

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// cniPlugins is where Debian has those that Nomad makes a group's network with.
const cniPlugins = "/usr/lib/cni"

// bridged is a web server whose group has a network of its own, where it listens on a port that
// needs root elsewhere and a port of the node is mapped to, and a task beside it that finds it on the loopback.
const bridged = `
job "bridged" {
  group "g" {
    network {
      mode = "bridge"
      dns {
        servers  = ["192.0.2.53"]
        searches = ["a.example", "b.example"]
        options  = ["ndots:2"]
      }
      port "http" {
        to = 80
      }
    }
    service {
      name     = "bridged"
      provider = "nomad"
      port     = "http"
      check {
        type     = "http"
        path     = "/"
        interval = "1s"
        timeout  = "10s"
      }
    }
    task "web" {
      driver = "yurt"
      config {
        command = "python3"
        args    = ["-m", "http.server", "80", "--directory", "/local"]
      }
      template {
        data        = "inside {{ env \"NOMAD_PORT_http\" }}\n"
        destination = "local/index.html"
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
    task "beside" {
      driver = "yurt"
      config {
        command = "sh"
        args    = ["-c", "until python3 -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:80/\").read().decode(), end=\"\")' 2>/local/errors; do sleep 0.2; done; exec sleep 3600"]
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}`

// TestBridge has a group with a network of its own, on a host of its own: Nomad makes a
// bridge and firewall rules for that, which then go with the host.
func TestBridge(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	options := cluster.Options{Network: cluster.TestNetwork(t), ClientConfig: "client {\n  cni_path = \"" + cniPlugins + "\"\n}\n"}
	n := &node{NomadCluster: cluster.Yurt(t, options, "")}
	n.job(t, bridged)
	alloc := n.WaitRunning(t, "bridged")
	testutil.Eventually(t, "the check passes", func() bool {
		checks, err := n.API.Allocations().Checks(alloc.ID, nil)
		for _, check := range checks {
			return err == nil && check.Status == "success"
		}
		return false
	})
	port := alloc.AllocatedResources.Shared.Ports[0]
	if strings.HasPrefix(port.HostIP, "127.") || port.To != 80 {
		t.Errorf("the port is %+v", port)
	}
	services, _, err := n.API.Services().Get("bridged", nil)
	if err != nil || len(services) != 1 {
		t.Fatalf("the services are %+v, %v", services, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s:%d/", services[0].Address, services[0].Port), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "inside 80\n" {
		t.Errorf("the service answers %q, %v", body, err)
	}
	out, _, _ := n.Exec(t, alloc, "web", "", "sh", "-c", "cat /etc/resolv.conf; echo x >> /etc/resolv.conf || echo fixed")
	if want := "nameserver 192.0.2.53\nsearch a.example b.example\noptions ndots:2\nfixed\n"; out != want {
		t.Errorf("names are %q, want %q", out, want)
	}
	testutil.Eventually(t, "the task beside it has read the same", func() bool { return n.Logs(t, alloc, "beside", "stdout") == string(body) })
}
