package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// counters are tasks that print numbers, two of one allocation and one of another.
const counters = `
job "counters" {
  type = "service"
  group "pair" {
    task "fast" {
      driver = "yurt"
      config {
        command = "sh"
        args    = ["-c", "n=0; while :; do n=$((n+1)); echo $n; sleep 0.01; done"]
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
    task "slow" {
      driver = "yurt"
      config {
        command = "sh"
        args    = ["-c", "n=0; while :; do n=$((n+1)); echo $n; sleep 0.1; done"]
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
  group "single" {
    task "bursts" {
      driver = "yurt"
      config {
        command = "sh"
        args    = ["-c", "n=0; while :; do for i in 1 2 3 4 5 6 7 8 9 10; do n=$((n+1)); echo $n; done; sleep 0.05; done"]
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}`

// victims are the processes of a node that are killed in one round of the matrix.
type victims struct{ plugin, executor, client bool }

// The matrix kills parts of a node (the driver, the executor, Nomad's client, all of them) at any
// moment while tasks run and print: every task lives on, no line of its log is lost or doubled, and
// Nomad reports its true state.
func TestNomadNodeIsKilled(t *testing.T) {
	t.Parallel()
	c := cluster.Yurt(t, cluster.Options{Servers: 1}, "")
	m := &matrix{t: t, c: c, client: c.Clients[0]}
	c.Run(t, counters)
	m.begin()
	rounds := []victims{{plugin: true}, {executor: true}, {client: true}, {plugin: true, executor: true, client: true}}
	for round := range 20 {
		m.round(rounds[round%len(rounds)])
	}
	m.checkLogs()
}

// refused is a task that the driver does not start, and logs that.
const refused = `
job "refused" {
  type = "batch"
  group "group" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "task" {
      driver = "yurt"
      config {
        command  = "true"
        template = "none-of-that-name"
      }
    }
  }
}`

// The driver lives on when its client is killed, and with it the reader of its log; also when it
// then has a line to log, which is when its next client most needs an answer.
func TestDriverOutlivesItsClient(t *testing.T) {
	t.Parallel()
	c := cluster.Yurt(t, cluster.Options{Servers: 1}, "")
	m := &matrix{t: t, c: c, client: c.Clients[0]}
	before := m.plugins()
	if err := m.client.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := m.client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Run(t, refused)
	alloc := c.WaitAlloc(t, "refused", "failed", func(a *nomad.Allocation) bool {
		return a.ClientStatus == nomad.AllocClientStatusFailed
	})
	if why := cluster.Describe(alloc); !strings.Contains(why, "none-of-that-name") {
		t.Errorf("the driver's own words are not there:%s", why)
	}
	if now := m.plugins(); !slices.Equal(now, before) {
		t.Errorf("the driver was process %v, and is %v", before, now)
	}
}

// matrix is the one node and its tasks.
type matrix struct {
	t      *testing.T
	c      *cluster.NomadCluster
	client *cluster.NomadAgent
	allocs []*nomad.Allocation // as they were at first
	inits  map[string]int      // pids of the sandboxes' first processes
}

func (m *matrix) begin() {
	m.t.Helper()
	for _, group := range []string{"pair", "single"} {
		m.allocs = append(m.allocs, m.c.WaitAlloc(m.t, "counters", "running in group "+group, func(a *nomad.Allocation) bool {
			return a.TaskGroup == group && a.ClientStatus == nomad.AllocClientStatusRunning
		}))
	}
	m.inits = m.sandboxes()
	if len(m.inits) != 3 {
		m.t.Fatalf("there are %d sandboxes for 3 tasks", len(m.inits))
	}
}

// sandboxes returns those of the node, and waits for an executor that is starting.
func (m *matrix) sandboxes() map[string]int {
	m.t.Helper()
	inits := map[string]int{}
	testutil.Eventually(m.t, "the executor answers", func() bool {
		client, err := m.client.Executor()
		if err != nil {
			return false
		}
		defer client.Close()
		list, err := client.Sandboxes(m.t.Context())
		for _, s := range list {
			inits[s.ID] = s.PID
		}
		return err == nil
	})
	return inits
}

// round kills, waits until all is back, and looks at the tasks.
func (m *matrix) round(v victims) {
	m.t.Helper()
	time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // any moment
	plugins, broker := m.plugins(), m.broker()
	if v.client {
		if err := m.client.Kill(); err != nil {
			m.t.Fatal(err)
		}
	}
	if v.plugin {
		for _, pid := range plugins {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may end with its client
		}
	}
	if v.executor {
		testutil.Kill(m.t, broker) // and with it the executor
	}
	written := m.written()
	if v.client {
		if err := m.client.Start(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
	}
	testutil.Eventually(m.t, fmt.Sprintf("a driver runs after %+v", v), func() bool {
		now := m.plugins()
		return len(now) > 0 && (!v.plugin || !slices.Equal(now, plugins)) // it outlives its client
	})
	testutil.Eventually(m.t, fmt.Sprintf("an executor runs after %+v", v), func() bool {
		pid, err := m.client.BrokerPID()
		return err == nil && (pid != broker) == v.executor
	})
	for path, size := range written {
		testutil.Eventually(m.t, fmt.Sprintf("%s grows after %+v", path, v), func() bool { return m.written()[path] > size })
	}
	m.check(v)
}

func (m *matrix) plugins() []int { return m.client.Processes(cluster.DriverPlugin) }

func (m *matrix) broker() int {
	m.t.Helper()
	pid, err := m.client.BrokerPID()
	if err != nil {
		m.t.Fatal(err)
	}
	return pid
}

// written returns the sizes of the tasks' logs.
func (m *matrix) written() map[string]int64 {
	sizes := map[string]int64{}
	for _, alloc := range m.allocs {
		for task := range alloc.TaskStates {
			path := filepath.Join(m.client.Dir, "data", "alloc", alloc.ID, "alloc", "logs", task+".stdout.0")
			info, err := os.Stat(path)
			if err != nil {
				m.t.Fatal(err)
			}
			sizes[path] = info.Size()
		}
	}
	return sizes
}

// check compares Nomad's view with the sandboxes.
func (m *matrix) check(v victims) {
	m.t.Helper()
	for _, before := range m.allocs {
		after := m.c.WaitAlloc(m.t, "counters", "running as before", func(a *nomad.Allocation) bool {
			return a.ID == before.ID && a.ClientStatus == nomad.AllocClientStatusRunning
		})
		for name, task := range after.TaskStates {
			for _, event := range task.Events {
				if event.Type == nomad.TaskTerminated || event.Type == nomad.TaskRestarting || event.Type == nomad.TaskDriverFailure {
					m.t.Fatalf("killed %+v, and task %s did not live on:%s", v, name, cluster.Describe(after))
				}
			}
		}
	}
	if now := m.sandboxes(); !maps.Equal(now, m.inits) {
		m.t.Fatalf("killed %+v, and the sandboxes are %v, which were %v", v, now, m.inits)
	}
}

// checkLogs wants each log to be every number from 1 on, once.
func (m *matrix) checkLogs() {
	m.t.Helper()
	for _, alloc := range m.allocs {
		for task := range alloc.TaskStates {
			lines := strings.Fields(m.c.Logs(m.t, alloc, task, "stdout"))
			if len(lines) == 0 {
				m.t.Errorf("the log of task %s is empty", task)
			}
			for i, line := range lines {
				if line != fmt.Sprint(i+1) {
					m.t.Errorf("line %d of the log of task %s is %q; around it: %q", i+1, task, line, lines[max(0, i-3):min(len(lines), i+4)])
					break
				}
			}
			m.t.Logf("task %s: %d lines", task, len(lines))
		}
	}
}
