package nomad

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/cluster"
)

// policyJob is a batch job whose task counts in a file how often it was started, and does
// well the third time.
func policyJob(id, file, policy string) string {
	return fmt.Sprintf(`
job %q {
  type = "batch"
  group "g" {
    %s
    volume "data" {
      type   = "host"
      source = "counts"
    }
    task "t" {
      driver = "yurt"
      config {
        command = "sh"
        args    = ["-c", "echo $NOMAD_ALLOC_ID >> %s; n=$(wc -l < %s); echo life $n; [ $n = 3 ] || exit 9"]
      }
      volume_mount {
        volume      = "data"
        destination = "/data"
      }
      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}`, id, policy, file, file)
}

// restarts fails twice, and is started again in the same allocation until it does well.
func (n *node) restarts(t *testing.T) {
	n.job(t, policyJob("restarts", "/alloc/data/count", `restart {
      attempts = 2
      interval = "1h"
      delay    = "100ms"
      mode     = "fail"
    }`))
	if out := n.completes(t, "restarts", "t"); out != "life 1\nlife 2\nlife 3\n" {
		t.Errorf("it printed %q", out)
	}
	alloc := n.WaitDone(t, "restarts")
	var codes []int
	for _, event := range alloc.TaskStates["t"].Events {
		if event.Type == nomad.TaskTerminated {
			codes = append(codes, event.ExitCode)
		}
	}
	if !slices.Equal(codes, []int{9, 9, 0}) || alloc.TaskStates["t"].Restarts != 2 {
		t.Errorf("its exit codes are %v%s", codes, cluster.Describe(alloc))
	}
}

// rescheduled fails in two allocations, which another one takes the place of each time.
func (n *node) rescheduled(t *testing.T) {
	n.job(t, policyJob("rescheduled", "/data/rescheduled", `restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts       = 2
      interval       = "1h"
      delay          = "5s" # Nomad's least
      delay_function = "constant"
      unlimited      = false
    }`))
	last := n.WaitAlloc(t, "rescheduled", "complete", func(a *nomad.Allocation) bool {
		return a.ClientStatus == nomad.AllocClientStatusComplete
	})
	ids, err := os.ReadFile(filepath.Join(n.counts, "rescheduled"))
	if err != nil {
		t.Fatal(err)
	}
	lives := strings.Fields(string(ids))
	if len(lives) != 3 || lives[2] != last.ID || lives[1] != last.PreviousAllocation || lives[0] == lives[1] {
		t.Errorf("its allocations were %q, the last of which is %s after %s", lives, last.ID, last.PreviousAllocation)
	}
	if out := n.Logs(t, last, "t", "stdout"); out != "life 3\n" {
		t.Errorf("it printed %q", out)
	}
}

// artifact gets a file and an archive from a server, and runs a program of the archive.
func (n *node) artifact(t *testing.T) {
	archive := archiveOf(t, "bin/tool", "#!/bin/sh\necho the tool says $1\n")
	files := map[string][]byte{"/words.txt": []byte("from the server\n"), "/tool.tar.gz": archive}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, found := files[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(data))
	}))
	defer server.Close()
	n.job(t, task("artifact", "batch", "cat /local/words.txt; /local/tool/bin/tool hello", fmt.Sprintf(`
      artifact {
        source = "%s/words.txt"
      }
      artifact {
        source      = "%s/tool.tar.gz"
        destination = "local/tool"
        options {
          checksum = "sha256:%x"
        }
      }`, server.URL, server.URL, sha256.Sum256(archive))))
	if out := n.completes(t, "artifact", "t"); out != "from the server\nthe tool says hello\n" {
		t.Errorf("it printed %q", out)
	}
}

// archiveOf is a tar.gz of one program.
func archiveOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Format: tar.FormatPAX})
	if err == nil {
		_, err = io.WriteString(archive, text)
	}
	for _, step := range []func() error{archive.Close, compressed.Close} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// files are the files that nomad alloc fs shows of a running task: those that it writes, as they
// are, and not its secrets.
func (n *node) files(t *testing.T) {
	n.job(t, task("files", "service", "echo mine > /local/file; mkdir /alloc/data/dir; echo shared > /alloc/data/dir/file; echo secret > /secrets/key; echo begun; exec sleep 3600", ""))
	alloc := n.WaitRunning(t, "files")
	n.printed(t, alloc, "begun\n")
	for path, want := range map[string]string{"t/local/file": "mine\n", "alloc/data/dir/file": "shared\n"} {
		if got := n.cat(t, alloc, path); got != want {
			t.Errorf("%s holds %q", path, got)
		}
		info, _, err := n.API.AllocFS().Stat(alloc, path, nil)
		if err != nil || info.IsDir || info.Size != int64(len(want)) {
			t.Errorf("%s is %+v, %v", path, info, err)
		}
	}
	list, _, err := n.API.AllocFS().List(alloc, "alloc/data", nil)
	if err != nil || len(list) != 1 || list[0].Name != "dir" || !list[0].IsDir {
		t.Errorf("the shared directory holds %+v, %v", list, err)
	}
	if got := n.cat(t, alloc, "t/secrets/key"); !strings.Contains(got, "prohibited") { // is all that Nomad says
		t.Errorf("its secrets can be read: %q", got)
	}
}

func (n *node) cat(t *testing.T, alloc *nomad.Allocation, path string) string {
	t.Helper()
	stream, err := n.API.AllocFS().Cat(alloc, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	data, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// follow reads a task's output while it is written, until the task ends.
func (n *node) follow(t *testing.T) {
	n.job(t, task("follow", "service", `trap 'echo second' USR1; trap 'echo third; exit 0' INT; echo first; while :; do sleep 0.1; done`, `kill_signal = "SIGINT"
      kill_timeout = "30s"`))
	alloc := n.WaitRunning(t, "follow")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	frames, errs := n.API.AllocFS().Logs(alloc, true, "t", "stdout", nomad.OriginStart, 0, ctx.Done(), nil)
	read := ""
	until := func(want string) {
		t.Helper()
		for read != want {
			select {
			case frame, open := <-frames:
				if !open || !strings.HasPrefix(want, read) {
					t.Fatalf("the log is %q (and goes on: %t), want %q", read, open, want)
				}
				read += string(frame.Data)
			case err := <-errs:
				t.Fatalf("following the log after %q: %v", read, err)
			}
		}
	}
	until("first\n")
	if err := n.API.Allocations().Signal(alloc, nil, "t", "SIGUSR1"); err != nil {
		t.Fatal(err)
	}
	until("first\nsecond\n")
	if _, _, err := n.API.Jobs().Deregister("follow", false, nil); err != nil {
		t.Fatal(err)
	}
	until("first\nsecond\nthird\n")
	n.WaitDone(t, "follow")
}

// burst takes more memory than it reserves, up to the most that its job names.
func (n *node) burst(t *testing.T) {
	current, _, err := n.API.Operator().SchedulerGetConfiguration(nil)
	if err != nil {
		t.Fatal(err)
	}
	current.SchedulerConfig.MemoryOversubscriptionEnabled = true
	if _, _, err := n.API.Operator().SchedulerSetConfiguration(current.SchedulerConfig, nil); err != nil {
		t.Fatal(err)
	}
	const job = `
job "burst" {
  type = "batch"
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    task "t" {
      driver = "yurt"
      config {
        command = "python3"
        args    = ["-c", "a = bytearray(150 << 20); print(len(a) >> 20)"]
      }
      resources {
        cpu        = 20
        memory     = 48
        memory_max = 300
      }
    }
  }
}`
	n.job(t, job)
	if out := n.completes(t, "burst", "t"); out != "150\n" {
		t.Errorf("it printed %q", out)
	}
}

// validated shows that Nomad's servers know no driver's settings: a job that no client would
// run is valid for them.
func (n *node) validated(t *testing.T) {
	job, err := n.API.Jobs().ParseHCL(strings.Replace(task("validated", "batch", "true", ""), `command = "sh"`, "privileged = true", 1), true)
	if err != nil {
		t.Fatal(err)
	}
	answer, _, err := n.API.Jobs().Validate(job, nil)
	if err != nil || answer.Error != "" || len(answer.ValidationErrors) > 0 {
		t.Errorf("Nomad knows of the driver's settings: %+v, %v; say so in docs/NOMAD.md", answer, err)
	}
}

// cores may keep as many processors busy as it reserves, and no more.
func (n *node) cores(t *testing.T) {
	n.job(t, strings.Replace(task("cores", "service", "echo begun; exec sleep 3600", ""), "cpu    = 50", "cores  = 1", 1))
	alloc := n.WaitRunning(t, "cores")
	n.printed(t, alloc, "begun\n")
	sandbox := n.sandbox(t, "cores")
	quota, period := processors(t, sandbox.PID)
	if quota <= 0 || quota != period {
		t.Errorf("it may use %d µs of processors each %d µs", quota, period)
	}
	out, _, _ := n.Exec(t, alloc, "t", "", "sh", "-c", `echo "$NOMAD_CPU_CORES"; sed -n 's/^Cpus_allowed_list:[ \t]*//p' /proc/self/status`)
	if granted, runs, _ := strings.Cut(strings.TrimSpace(out), "\n"); granted == "" || granted != runs {
		t.Errorf("it runs on %q, and Nomad granted %q", runs, granted)
	}
}

// sandbox returns the one that the job's task is in.
func (n *node) sandbox(t *testing.T, jobID string) yurt.Sandbox {
	t.Helper()
	client, err := n.Clients[0].Executor()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	sandboxes, err := client.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sandboxes, func(s yurt.Sandbox) bool { return s.Labels[yurt.LabelNomadJob] == jobID })
	if i < 0 {
		t.Fatalf("job %s has no sandbox among %+v", jobID, sandboxes)
	}
	return sandboxes[i]
}

// processors is the limit of the sandbox that the process is the first of: that much time
// each so much.
func processors(t *testing.T, pid int) (quota, period int64) {
	t.Helper()
	for line := range strings.Lines(read(t, fmt.Sprintf("/proc/%d/cgroup", pid))) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		group := fields[2]
		var text string
		switch {
		case slices.Contains(strings.Split(fields[1], ","), "cpu"):
			dir := filepath.Join("/sys/fs/cgroup/cpu", group)
			text = read(t, filepath.Join(dir, "cpu.cfs_quota_us")) + read(t, filepath.Join(dir, "cpu.cfs_period_us"))
		case fields[1] == "":
			group = filepath.Dir(group) // it is in one of its own in that
			data, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", group, "cpu.max"))
			if err != nil {
				continue // processors are limited elsewhere
			}
			text = string(data)
		default:
			continue
		}
		if _, err := fmt.Sscan(text, &quota, &period); err != nil {
			t.Fatalf("the limit is %q: %v", text, err)
		}
		return quota, period
	}
	t.Fatal("it is in no cgroup that limits processors")
	return 0, 0
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
