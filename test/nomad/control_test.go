package nomad

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/jobspecs"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// task is a job of one task that runs a shell line. The rest is for inside the task.
func task(id, kind, line, rest string) string {
	return fmt.Sprintf(`
job %q {
  type = %q
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "yurt"
      config {
        command = "sh"
        args    = ["-c", %q]
      }
      resources {
        cpu    = 50
        memory = 64
      }
      %s
    }
  }
}`, id, kind, line, rest)
}

// control signals a task, runs commands in it, measures it, restarts and stops it.
func (n *node) control(t *testing.T) {
	n.job(t, task("control", "service", `trap 'echo got USR1' USR1; trap 'echo got INT; exit 0' INT; echo begun; while :; do sleep 0.1; done`,
		`kill_signal = "SIGINT"
      kill_timeout = "30s"`))
	alloc := n.WaitRunning(t, "control")
	n.printed(t, alloc, "begun\n")

	if err := n.API.Allocations().Signal(alloc, nil, "t", "SIGUSR1"); err != nil {
		t.Fatal(err)
	}
	n.printed(t, alloc, "begun\ngot USR1\n")

	out, errs, code := n.Exec(t, alloc, "t", "typed\n", "sh", "-c", "cat; echo $NOMAD_TASK_NAME; id -u >&2; exit 7")
	if out != "typed\nt\n" || errs != "1000\n" || code != 7 {
		t.Errorf("a command in it printed %q and %q, and ended with %d", out, errs, code)
	}
	n.terminal(t, alloc)

	testutil.Eventually(t, "it is measured", func() bool {
		stats, err := n.API.Allocations().Stats(alloc, nil)
		return err == nil && stats.Tasks["t"] != nil && stats.Tasks["t"].ResourceUsage.MemoryStats.Usage > 0
	})

	if err := n.API.Allocations().Restart(alloc, "t", nil); err != nil {
		t.Fatal(err)
	}
	n.printed(t, alloc, "begun\ngot USR1\ngot INT\nbegun\n")
	if _, _, err := n.API.Jobs().Deregister("control", false, nil); err != nil {
		t.Fatal(err)
	}
	n.printed(t, alloc, "begun\ngot USR1\ngot INT\nbegun\ngot INT\n")
}

// printed waits until that is the task's output.
func (n *node) printed(t *testing.T, alloc *nomad.Allocation, want string) {
	t.Helper()
	got := ""
	defer func() {
		if got != want {
			t.Logf("it printed %q, want %q", got, want)
		}
	}()
	testutil.Eventually(t, "it has printed all", func() bool {
		got = n.Logs(t, alloc, "t", "stdout")
		return got == want
	})
}

// terminal types into a shell that has a terminal, whose size is set while it runs.
func (n *node) terminal(t *testing.T, alloc *nomad.Allocation) {
	t.Helper()
	typed, keys := io.Pipe()
	defer keys.Close()
	sizes := make(chan nomad.TerminalSize, 1)
	sizes <- nomad.TerminalSize{Height: 33, Width: 111}
	var out bytes.Buffer
	go func() {
		// The size may come after the first line: the shell waits for it.
		fmt.Fprint(keys, "until [ \"$(stty size)\" = '33 111' ]; do sleep 0.1; done; tty; exit 5\n")
	}()
	code, err := n.API.Allocations().Exec(t.Context(), alloc, "t", true, []string{"sh"}, typed, &out, &out, sizes, nil)
	if err != nil || code != 5 || !strings.Contains(out.String(), "/dev/pts/") {
		t.Errorf("the terminal printed %q and ended with %d, %v", out.String(), code, err)
	}
}

// stubborn does not end when it is told to, and is ended when its time is up.
func (n *node) stubborn(t *testing.T) {
	n.job(t, task("stubborn", "service", `trap '' TERM INT; echo begun; (while :; do sleep 1; done) & while :; do sleep 1; done`, `kill_timeout = "1s"`))
	alloc := n.WaitRunning(t, "stubborn")
	n.printed(t, alloc, "begun\n")
	if _, _, err := n.API.Jobs().Deregister("stubborn", false, nil); err != nil {
		t.Fatal(err)
	}
	ended := n.WaitDone(t, "stubborn")
	if code := exitCode(ended, "t"); code != 137 {
		t.Errorf("it ended with %d%s", code, cluster.Describe(ended))
	}
}

// exitCode is how the task ended last, -1 if it has not.
func exitCode(alloc *nomad.Allocation, task string) int {
	code := -1
	for _, event := range alloc.TaskStates[task].Events {
		if event.Type == nomad.TaskTerminated {
			code = event.ExitCode
		}
	}
	return code
}

// memory takes more than it may have, and Nomad says that this is why it ended.
func (n *node) memory(t *testing.T) {
	n.job(t, task("memory", "batch", `exec python3 -c "a = bytearray(200 << 20)"`, ""))
	alloc := n.WaitDone(t, "memory")
	for _, event := range alloc.TaskStates["t"].Events {
		if event.Type == nomad.TaskTerminated && event.Details["oom_killed"] == "true" && event.ExitCode == 137 &&
			strings.Contains(event.DisplayMessage, `Exit Message: "OOM Killed"`) {
			return
		}
	}
	t.Errorf("nothing says that it ran out of memory:%s", cluster.Describe(alloc))
}

// lifecycle has a task that prepares files for the next one.
func (n *node) lifecycle(t *testing.T) {
	n.job(t, `
job "lifecycle" {
  type = "batch"
  group "g" {
    task "before" {
      driver = "yurt"
      lifecycle {
        hook = "prestart"
      }
      config {
        command = "sh"
        args    = ["-c", "echo prepared > /alloc/data/file; echo mine > /secrets/file"]
      }
    }
    task "main" {
      driver = "yurt"
      config {
        command = "sh"
        args    = ["-c", "cat /alloc/data/file; ls /secrets/file || true"]
      }
    }
  }
}`)
	if out := n.completes(t, "lifecycle", "main"); out != "prepared\n" {
		t.Errorf("it printed %q", out)
	}
}

// quiet wants no logs, and gets no logs.
func (n *node) quiet(t *testing.T) {
	n.job(t, task("quiet", "batch", "echo not to be kept", "logs {\n disabled = true\n}\n"))
	alloc := n.WaitDone(t, "quiet")
	files, _, err := n.API.AllocFS().List(alloc, "alloc/logs", nil)
	if err != nil || len(files) != 0 || exitCode(alloc, "t") != 0 {
		t.Errorf("there are %v, %v%s", files, err, cluster.Describe(alloc))
	}
}

// badJobs asks for unsupported settings: each error names the wrong setting.
func (n *node) badJobs(t *testing.T) {
	for name, test := range map[string]struct{ config, says string }{
		"image":       {`command = "true"` + "\n" + `image = "alpine"`, "image: alpine: this node takes no images from the registry docker.io"},
		"nothing":     {`args = ["a"]`, "command: there is nothing to run"},
		"unknown":     {`command = "true"` + "\n" + `privileged = true`, "privileged"},
		"template":    {`command = "true"` + "\n" + `template = "none-such"`, "template: there is no template"},
		"host mount":  {"command = \"true\"\nmounts {\n source = \"/etc\"\n target = \"/x\"\n}", "mounts.source: /etc is not offered"},
		"no command":  {`command = "/no/such/program"`, "command: /no/such/program cannot be started"},
		"group":       {`command = "true"` + "\n" + `network = "group"`, "network: "},
		"no isolator": {`command = "true"` + "\n" + `isolation = "gvisor"`, "isolation: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := "bad-" + strings.ReplaceAll(name, " ", "-")
			n.job(t, fmt.Sprintf("job %q {\n type = \"batch\"\n group \"g\" {\n restart {\n attempts = 0\n mode = \"fail\"\n }\n reschedule {\n attempts = 0\n unlimited = false\n }\n task \"t\" {\n driver = \"yurt\"\n config {\n %s\n }\n resources {\n cpu = 20\n memory = 32\n }\n }\n }\n}", id, test.config))
			alloc := n.WaitDone(t, id)
			if said := cluster.Describe(alloc); !strings.Contains(said, test.says) || alloc.ClientStatus != nomad.AllocClientStatusFailed {
				t.Errorf("nothing says %q:%s", test.says, said)
			}
		})
	}
}

// fingerprint checks the node's attributes.
func (n *node) fingerprint(t *testing.T) {
	nodes, _, err := n.API.Nodes().List(nil)
	if err != nil || len(nodes) != 1 {
		t.Fatalf("the nodes are %v, %v", nodes, err)
	}
	node, _, err := n.API.Nodes().Info(nodes[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"driver.yurt": "1", "driver.yurt.isolation.namespaces": "true", "driver.yurt.host_network": "true",
		"driver.yurt.images": "true", "driver.yurt.slots": "true", "driver.yurt.announced": "false",
		"driver.yurt.doctor.seccomp": "in_force", "driver.yurt.executor.node": n.Clients[0].Node,
	} {
		if got := node.Attributes[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"driver.yurt.cgroup", "driver.yurt.runtime.python", "driver.yurt.template.shell-basic"} {
		if node.Attributes[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
}

// slotUnannounced: a controller's slot is not placed on a node whose executor does not announce
// itself, as no controller could claim it there.
func (n *node) slotUnannounced(t *testing.T) {
	job, err := n.API.Jobs().ParseHCL(jobspecs.Session(), true)
	if err != nil {
		t.Fatal(err)
	}
	id := "slot-unannounced"
	job.ID, job.Name = &id, &id
	job.TaskGroups[0].Tasks[0].Config = map[string]any{"slot": []map[string]any{{"id": id}}}
	plan, _, err := n.API.Jobs().Plan(job, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	refused := plan.FailedTGAllocs["slot"]
	if refused == nil || refused.ConstraintFiltered["${attr.driver.yurt.announced} != false"] != 1 {
		t.Errorf("the slot may be placed on the node: %+v", refused)
	}
}

// script has a check that is a command in the task, as which Nomad runs it.
func (n *node) script(t *testing.T) {
	n.job(t, task("script", "service", "echo ok > /local/state; while :; do sleep 1; done", `kill_timeout = "1s"
      service {
        name     = "scripted"
        provider = "consul"
        check {
          type     = "script"
          command  = "sh"
          args     = ["-c", "cat /local/state; id -u; test -f /local/state"]
          interval = "1s"
          timeout  = "10s"
        }
      }`))
	last := ""
	defer func() { t.Log("the check's last output: ", last) }()
	testutil.Eventually(t, "the check passes", func() bool {
		checks, _, err := n.consul.Health().Checks("scripted", nil)
		for _, check := range checks {
			last = check.Output
			return err == nil && check.Status == "passing" && check.Output == "ok\n1000\n"
		}
		return false
	})
}
