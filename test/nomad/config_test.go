package nomad

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt/driver"
	"github.com/yurtrun/yurt/test/cluster"
	"github.com/yurtrun/yurt/test/testutil"
)

// everything has all attributes of the config block in its tasks, in the HCL that users write.
// Only images, which have tests of their own, and slots, which take the place of the others, are in
// jobs beside it.
const everything = `
job "everything" {
  type = "batch"
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "command" {
      driver = "yurt"
      config {
        template        = "shell-basic"
        entrypoint      = ["sh", "-c"]
        command         = "ulimit -n; ulimit -s; pwd; hostname; getent hosts named | head -c9; echo; cat /input/word; echo $WORD$OTHER; sed -n 's/.* .workspace .*size=\\([0-9]*\\)k.*/\\1/p' /proc/mounts; echo to stderr >&2"
        args            = ["unused"]
        cwd             = "/local"
        network         = "none"
        hostname        = "named"
        isolation       = "namespaces"
        seccomp         = "default"
        env_passthrough = ["WORD", "NOMAD_*"]
        cpu_hard_limit  = true
        ulimits {
          nofile = "2048"
          stack  = "4Mi"
        }
        mounts {
          source    = "local/input"
          target    = "/input"
          read_only = true
        }
        resources {
          cpu       = 0.5
          memory    = "80Mi"
          disk      = "16Mi"
          pids      = 50
          disk_kind = "memory"
          io_weight = 100
        }
        logs {
          max_files     = 2
          max_file_size = "64Ki"
        }
      }
      env {
        WORD  = "passed"
        OTHER = "kept"
      }
      template {
        data        = "mounted\n"
        destination = "local/input/word"
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
    task "code" {
      driver = "yurt"
      config {
        language = "python"
        code     = "import resource, sys; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], sys.argv[1:])"
        args     = ["a", "b"]
        ulimits  = { nofile = 1024, fsize = "1Mi" }
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
    task "relative" {
      driver = "yurt"
      config {
        command = "local/run.sh"
        args    = ["relative"]
      }
      template {
        data        = "#!/bin/sh\necho $1 $(hostname) $(getent hosts $(hostname) | head -c9)\n"
        destination = "local/run.sh"
        perms       = "755"
      }
      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}`

// roomFor is a job that asks for a slot.
const roomFor = `
job "room" {
  group "g" {
    task "t" {
      driver = "yurt"
      config {
        template = "shell-basic"
        slot {
          id   = "everything-slot"
          for  = ""
          once = true
        }
      }
      resources {
        cpu    = 20
        memory = 64
      }
    }
  }
}`

// everything runs jobs with every attribute that the config block has.
func (n *node) everything(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[driver.TaskConfig]()) {
		name := field.Tag.Get("json")
		if !regexp.MustCompile(`\n +`+name+` +[={]`).MatchString(everything+roomFor) && name != "image" {
			t.Errorf("no job has the attribute %q", name)
		}
	}
	n.job(t, everything)
	n.job(t, roomFor)
	want := "2048\n4096\n/local\nnamed\n127.0.1.1\nmounted\npassed\n16384\n"
	if out := n.completes(t, "everything", "command"); out != want {
		t.Errorf("the command printed %q, want %q", out, want)
	}
	alloc := n.WaitDone(t, "everything")
	if out := n.Logs(t, alloc, "code", "stdout"); out != "1024 ['a', 'b']\n" {
		t.Errorf("the code printed %q", out)
	}
	if out, want := n.Logs(t, alloc, "relative", "stdout"), fmt.Sprintf("relative relative-%s 127.0.1.1\n", alloc.ID[:8]); out != want {
		t.Errorf("the program in the task's directory printed %q, want %q", out, want)
	}
	n.WaitRunning(t, "room")
	client, err := n.Clients[0].Executor()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if slots, err := client.Slots(t.Context()); err != nil || !strings.Contains(fmt.Sprint(slots), "everything-slot") {
		t.Errorf("the slots are %+v, %v", slots, err)
	}
}

// ownedByRoot has a task that can read a volume but not write to it: its event names the owner and the next step.
func (n *node) ownedByRoot(t *testing.T) {
	job := task("owned", "batch", "cat /data/file; touch /data/new || echo refused", `volume_mount {
        volume      = "data"
        destination = "/data"
      }`)
	n.job(t, strings.Replace(job, "task \"t\"", "volume \"data\" {\n type = \"host\"\n source = \"roots\"\n}\ntask \"t\"", 1))
	if err := os.WriteFile(filepath.Join(n.roots, "file"), []byte("of root\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := n.completes(t, "owned", "t"); !strings.HasSuffix(out, "refused\n") {
		t.Errorf("it printed %q", out)
	}
	want := "the task cannot write to /data: on the node " + n.roots + " belongs to 0:0 with mode 0755, and the task runs as 1000:1000; run chown 1000:1000 " + n.roots
	if said := cluster.Describe(n.WaitDone(t, "owned")); !strings.Contains(said, want) {
		t.Errorf("no event says %q:%s", want, said)
	}
}

// logLimits keeps of its output as much as the logs block of its job says.
func (n *node) logLimits(t *testing.T) {
	n.job(t, task("log-limits", "batch", "seq 1000000", "logs {\n max_files = 2\n max_file_size = 1\n}\n")) // in 6.9 MB
	alloc := n.WaitDone(t, "log-limits")
	files, _, err := n.API.AllocFS().List(alloc, "alloc/logs", nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, file := range files {
		if strings.HasPrefix(file.Name, "t.stdout.") {
			kept++
		}
		if file.Size > 1<<20 {
			t.Errorf("%s has %d bytes", file.Name, file.Size)
		}
	}
	if out := n.Logs(t, alloc, "t", "stdout"); kept != 2 || !strings.HasSuffix(out, "\n999999\n1000000\n") {
		t.Errorf("%d files are kept, which end with %.40q%s", kept, out[max(0, len(out)-40):], cluster.Describe(alloc))
	}
}

// missing has commands beside a task that are not there, whose caller is told so.
func (n *node) missing(t *testing.T) {
	n.job(t, task("missing", "service", "exec sleep 3600", `kill_timeout = "1s"
      service {
        name     = "missing"
        provider = "consul"
        check {
          type     = "script"
          command  = "no-such-script"
          interval = "1s"
          timeout  = "10s"
        }
      }`))
	alloc := n.WaitRunning(t, "missing")
	const says = "no-such-program cannot be started: no-such-program: command not found in PATH"
	if _, errs, code := n.Exec(t, alloc, "t", "", "no-such-program"); !strings.Contains(errs, says) || code != 127 {
		t.Errorf("it says %q and ends with %d", errs, code)
	}
	var out strings.Builder
	code, err := n.API.Allocations().Exec(t.Context(), alloc, "t", true, []string{"no-such-program"}, strings.NewReader(""), &out, &out, make(chan nomad.TerminalSize), nil)
	if err != nil || code != 127 || !strings.Contains(out.String(), says) {
		t.Errorf("at a terminal it says %q and ends with %d, %v", out.String(), code, err)
	}
	last := ""
	defer func() { t.Log("the check's last output: ", last) }()
	testutil.Eventually(t, "the check says what is wrong", func() bool {
		checks, err := n.consul.Agent().ChecksWithFilter(`ServiceName == "missing"`) // its catalog hears of a change of status alone
		for _, check := range checks {
			last = check.Output
			return err == nil && check.Status == "critical" && strings.Contains(check.Output, "no-such-script cannot be started: no-such-script: command not found in PATH")
		}
		return false
	})
}
