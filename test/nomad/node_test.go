package nomad

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
)

// counter prints numbers until it is told to end, which it says.
const counter = `trap 'echo told to end; exit 0' INT; n=0; while :; do n=$((n+1)); echo $n; sleep 0.05; done`

// count runs a counter, and returns its allocation once it counts.
func (n *node) count(t *testing.T, id string) *nomad.Allocation {
	t.Helper()
	// A life that a machine's end cut short counts as one that failed.
	n.job(t, strings.Replace(task(id, "service", counter, `kill_signal = "SIGINT"
      kill_timeout = "30s"`), "attempts = 0\n      mode     = \"fail\"", "attempts = 3\n      delay    = \"100ms\"\n      mode     = \"fail\"", 1))
	alloc := n.WaitRunning(t, id)
	testutil.Eventually(t, "it counts", func() bool { return strings.HasPrefix(n.Logs(t, alloc, "t", "stdout"), "1\n2\n3\n") })
	return alloc
}

// counts on returns when the task has printed more than before, and checks that each life
// of it has printed all from 1 on, once.
func (n *node) countsOn(t *testing.T, alloc *nomad.Allocation, lives int) {
	t.Helper()
	before := n.Logs(t, alloc, "t", "stdout")
	log := ""
	testutil.Eventually(t, fmt.Sprintf("it counts on in life %d", lives), func() bool {
		log = n.Logs(t, alloc, "t", "stdout")
		return strings.Count("\n"+log, "\n1\n") == lives && len(log) > len(before)+20
	})
	want := 0
	for i, line := range strings.Fields(log) {
		if want++; line == "1" {
			want = 1
		}
		if line != fmt.Sprint(want) {
			t.Fatalf("line %d of its log is %q, want %d", i+1, line, want)
		}
	}
}

// alive waits until the same allocation runs, and returns it.
func (n *node) alive(t *testing.T, alloc *nomad.Allocation) *nomad.Allocation {
	t.Helper()
	return n.WaitAlloc(t, alloc.JobID, "running", func(a *nomad.Allocation) bool {
		return a.ID == alloc.ID && a.ClientStatus == nomad.AllocClientStatusRunning && a.TaskStates["t"].State == "running"
	})
}

// stopped ends the client as an update of it does: its tasks live on without it.
func (n *node) stopped(t *testing.T) {
	alloc := n.count(t, "stopped")
	before := n.sandbox(t, "stopped")
	client := n.Clients[0]
	if err := client.Stop(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(client.Dir, "data", "alloc", alloc.ID, "alloc", "logs", "t.stdout.0")
	written := len(read(t, log))
	testutil.Eventually(t, "it counts without a client", func() bool { return len(read(t, log)) > written+20 })
	n.start(t)
	n.countsOn(t, alloc, 1)
	after := n.alive(t, alloc)
	if now := n.sandbox(t, "stopped"); now.ID != before.ID || now.PID != before.PID || after.TaskStates["t"].Restarts != 0 {
		t.Errorf("it was in %+v, and is in %+v%s", before, now, cluster.Describe(after))
	}
}

// start begins the client's next life.
func (n *node) start(t *testing.T) {
	t.Helper()
	if err := n.Clients[0].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.Clients[0].WaitDriver(t.Context(), "yurt"); err != nil {
		t.Fatal(err)
	}
}

// rebooted is a machine that was restarted, as far as a test can do that: no process of before
// runs, and the files on disk are there. Nomad starts the task again in its allocation.
func (n *node) rebooted(t *testing.T) {
	alloc := n.count(t, "rebooted")
	n.crash(t)
	n.start(t)
	n.countsOn(t, n.alive(t, alloc), 2)
}

// lost is the same without the executor's state, of which no more than the driver's handles
// is left then.
func (n *node) lost(t *testing.T) {
	alloc := n.count(t, "lost")
	n.crash(t)
	state := n.Clients[0].StateDir()
	if mounts, err := leftovers.Of(state); err != nil || len(mounts.Mounts) > 0 {
		t.Fatalf("something is mounted: %v, %v", mounts, err)
	}
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	n.start(t)
	n.countsOn(t, n.alive(t, alloc), 2)
}

// crash ends the client, the executor and all that these ran, without a word to any.
func (n *node) crash(t *testing.T) {
	t.Helper()
	client := n.Clients[0]
	plugins := client.Processes(cluster.DriverPlugin)
	if err := client.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range plugins {
		_ = unix.Kill(pid, unix.SIGKILL) // it may end with its client
	}
	for deadline := time.Now().Add(time.Minute); ; {
		left, err := leftovers.Of(client.StateDir())
		if err != nil {
			t.Fatal(err)
		}
		if len(left.Processes) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("these could not be killed:\n%s", left)
		}
		for _, p := range left.Processes {
			_ = unix.Kill(p.PID, unix.SIGKILL) // others of its sandbox end with the first
		}
	}
	unmount(t, client.StateDir())
}

// unmount unmounts all that lies below the directory, the last first.
func unmount(t *testing.T, dir string) {
	t.Helper()
	left, err := leftovers.Of(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(left.Mounts) - 1; i >= 0; i-- {
		if point := strings.Fields(left.Mounts[i])[4]; strings.HasPrefix(point, dir) {
			if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
				t.Fatalf("unmounting %s: %v", point, err)
			}
		}
	}
}

// drained empties the node: the task is told with the signal that its job names, the drain
// ends, and a node that is eligible again gets the job back.
func (n *node) drained(t *testing.T) {
	alloc := n.count(t, "drained")
	id := alloc.NodeID
	spec := &nomad.DrainOptions{DrainSpec: &nomad.DrainSpec{Deadline: time.Hour}}
	if _, err := n.API.Nodes().UpdateDrainOpts(id, spec, nil); err != nil {
		t.Fatal(err)
	}
	n.WaitNode(t, n.Clients[0].Node, "drained", func(s *nomad.NodeListStub) bool { return !s.Drain })
	ended := n.WaitDone(t, "drained")
	if out := n.Logs(t, ended, "t", "stdout"); ended.ID != alloc.ID || exitCode(ended, "t") != 0 || !strings.HasSuffix(out, "\ntold to end\n") {
		t.Errorf("it was not told to end: %q%s", out[max(0, len(out)-100):], cluster.Describe(ended))
	}
	if node, _, err := n.API.Nodes().Info(id, nil); err != nil || node.LastDrain == nil || node.LastDrain.Status != nomad.DrainStatusComplete {
		t.Errorf("of its drain the node says %+v, %v", node.LastDrain, err)
	}
	if _, err := n.API.Nodes().ToggleEligibility(id, true, nil); err != nil {
		t.Fatal(err)
	}
	again := n.WaitRunning(t, "drained")
	if again.ID == alloc.ID {
		t.Errorf("the allocation that was drained runs again:%s", cluster.Describe(again))
	}
}
