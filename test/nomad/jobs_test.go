package nomad

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	consul "github.com/hashicorp/consul/api"
	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/jobspecs"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// node is the one client that all tests of this package share.
type node struct {
	*cluster.NomadCluster
	data   string // its volume
	counts string // another
	roots  string // a directory of root's that is a volume
	images *testutil.Registry
	consul *consul.Client
}

// TestDriver has all jobs on one node, side by side, and then puts the node through the faults of
// real nodes.
func TestDriver(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	n := &node{data: volume(t), counts: volume(t), roots: t.TempDir(), images: testutil.StartRegistry(t)}
	// Without this, Nomad does not ask drivers for the usage of their tasks.
	const measure = "telemetry {\n  publish_allocation_metrics = true\n}\n"
	agent := cluster.Consul(t, cluster.ConsulOptions{})
	n.consul = agent.Client
	options := cluster.Options{Consul: agent.Address, Config: measure, ClientConfig: fmt.Sprintf(`client {
  host_volume "data" {
    path = %q
  }
  host_volume "counts" {
    path = %q
  }
  host_volume "roots" {
    path = %q
  }
}
`, n.data, n.counts, n.roots)}
	n.NomadCluster = cluster.Yurt(t, options, fmt.Sprintf("host_network = true\nnomad_address = \"http://${ip}:4646\"\nimages = true\nimage_registries = [%q]", n.images.Host))
	t.Run("jobs", n.jobs)
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"client stopped", n.stopped}, {"machine restarted", n.rebooted}, {"state directory lost", n.lost}, {"drained", n.drained},
	} {
		if !t.Run(part.name, part.test) {
			return // the next one would only fail of this
		}
	}
}

// volume is a directory that anybody may write to.
func volume(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// jobs ends when all have.
func (n *node) jobs(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"hello": n.hello, "python": n.python, "web": n.web, "parameterized": n.parameterized,
		"system": n.system, "volumes": n.volumes, "secrets": n.secrets,
		"bad": n.badJobs, "validated": n.validated, "slot": n.slotUnannounced,
		"control": n.control, "stubborn": n.stubborn, "memory": n.memory, "lifecycle": n.lifecycle, "quiet": n.quiet,
		"fingerprint": n.fingerprint, "script": n.script,
		"restarts": n.restarts, "rescheduled": n.rescheduled, "artifact": n.artifact, "files": n.files, "follow": n.follow,
		"burst": n.burst, "cores": n.cores, "streams": n.streams, "image": n.image,
		"kill signals": n.killSignals, "reload": n.reload, "everything": n.everything, "owned by root": n.ownedByRoot, "missing": n.missing, "log limits": n.logLimits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// example registers the job of that file, and purges it with the test.
func (n *node) example(t *testing.T, name string) *nomad.Job {
	t.Helper()
	text, err := jobspecs.Example(name)
	if err != nil {
		t.Fatal(err)
	}
	return n.job(t, text)
}

func (n *node) job(t *testing.T, text string) *nomad.Job {
	t.Helper()
	job := n.Run(t, text)
	t.Cleanup(func() {
		if _, _, err := n.API.Jobs().Deregister(*job.ID, false, nil); err != nil {
			t.Errorf("stopping job %s: %v", *job.ID, err)
		}
	})
	return job
}

// completes waits until the job's allocation has ended well, and returns its output.
func (n *node) completes(t *testing.T, jobID, task string) string {
	t.Helper()
	alloc := n.WaitDone(t, jobID)
	out := n.Logs(t, alloc, task, "stdout")
	if alloc.ClientStatus != nomad.AllocClientStatusComplete {
		t.Fatalf("it is %s%s\nstdout: %s\nstderr: %s", alloc.ClientStatus, cluster.Describe(alloc), out, n.Logs(t, alloc, task, "stderr"))
	}
	return out
}

func (n *node) hello(t *testing.T) {
	n.example(t, "hello")
	if out := n.completes(t, "hello", "hello"); out != "Hello from a sandbox, task hello\n" {
		t.Errorf("it printed %q", out)
	}
}

func (n *node) python(t *testing.T) {
	n.example(t, "python")
	if out := n.completes(t, "python", "sum"); out != "the sum is 5050 as user 1000\n" {
		t.Errorf("it printed %q", out)
	}
}

func (n *node) web(t *testing.T) {
	n.example(t, "web")
	alloc := n.WaitRunning(t, "web")
	testutil.Eventually(t, "the check passes", func() bool {
		checks, err := n.API.Allocations().Checks(alloc.ID, nil)
		for _, check := range checks {
			return err == nil && check.Status == "success"
		}
		return false
	})
}

func (n *node) parameterized(t *testing.T) {
	n.example(t, "parameterized")
	dispatched, _, err := n.API.Jobs().Dispatch("shout", map[string]string{"name": "World"}, []byte("hello there\n"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if out := n.completes(t, dispatched.DispatchedJobID, "shout"); out != "HELLO THERE\nfor World\n" {
		t.Errorf("it printed %q", out)
	}
}

func (n *node) system(t *testing.T) {
	n.example(t, "system")
	alloc := n.WaitRunning(t, "everywhere")
	testutil.Eventually(t, "it beats", func() bool {
		return strings.HasPrefix(n.Logs(t, alloc, "beat", "stdout"), "alive on "+n.Clients[0].Node+"\n")
	})
}

func (n *node) volumes(t *testing.T) {
	n.example(t, "volumes")
	out := n.completes(t, "volumes", "write")
	written, err := os.ReadFile(filepath.Join(n.data, "written"))
	if err != nil || out != string(written) || out == "" {
		t.Errorf("it printed %q and wrote %q, %v", out, written, err)
	}
	if entries, err := os.ReadDir(n.data); err != nil || len(entries) != 1 {
		t.Errorf("the volume holds %v, %v", entries, err)
	}
}

func (n *node) secrets(t *testing.T) {
	variable := &nomad.Variable{Path: "nomad/jobs/secrets", Items: nomad.VariableItems{"password": "correct-horse"}}
	if _, _, err := n.API.Variables().Create(variable, nil); err != nil {
		t.Fatal(err)
	}
	n.example(t, "secrets")
	if out := n.completes(t, "secrets", "login"); out != "400 1000\n13\nuser reader\n" {
		t.Errorf("it printed %q", out)
	}
}
