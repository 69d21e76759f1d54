package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
)

const (
	printed   = 8 << 20 // bytes of each stream, the default limit of output
	costGoal  = 64 << 20
	smallRoom = 150 << 20
	patience  = 2 * time.Minute
)

// zeros prints NULs to both streams, as many as are kept and some more.
func zeros() []string {
	return []string{"/bin/sh", "-c", "head -c 9000000 /dev/zero >&2 & head -c 9000000 /dev/zero; wait"}
}

// text prints 8 MiB.
func text() []string { return []string{"/bin/sh", "-c", "yes 0123456789abcde | head -c 8388608"} }

func client(t *testing.T, url string) *yurtclient.Client {
	t.Helper()
	c, err := yurtclient.New(url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func session(t *testing.T, c *yurtclient.Client) string {
	t.Helper()
	resources := yurtclient.Resources{CPU: 0.5, Memory: 64 << 20}
	s, err := c.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "python-basic", Mode: yurt.ModePersistent, Resources: &resources, Timeout: yurt.Duration(10 * time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

func start(t *testing.T, c *yurtclient.Client, session string, argv []string) (id string) {
	t.Helper()
	e, err := c.Start(t.Context(), session, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: argv}})
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// ended waits for the end of an execution, without its result.
func ended(t *testing.T, c *yurtclient.Client, session string, ids []string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		running := 0
		page, err := c.Executions(t.Context(), session, yurtclient.ExecutionFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Executions {
			if !e.State.Ended() {
				running++
			}
		}
		if running == 0 && len(page.Executions) >= len(ids) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d executions of %s run after %s", running, session, patience)
		}
	}
}

// cost runs n sandboxes that print NULs, and returns the most that the server had above idle.
func cost(t *testing.T, n int) int64 {
	t.Helper()
	server, err := devserver.Start(context.WithoutCancel(t.Context()), testutil.BuildYurt(t, "yurt", "test"), t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := client(t, server.URL)
	sessions := make([]string, n)
	for i := range sessions {
		sessions[i] = session(t, c)
	}
	pid, err := server.ExecutorPID()
	if err != nil {
		t.Fatal(err)
	}
	idle, most := testutil.Memory(t, pid, "RssAnon"), int64(0)
	stop, measured := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(measured)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				most = max(most, testutil.Memory(t, pid, "RssAnon"))
			}
		}
	}()
	ids := make([]string, n)
	for i, s := range sessions {
		ids[i] = start(t, c, s, zeros())
	}
	for i, s := range sessions {
		ended(t, c, s, ids[i:i+1])
	}
	if size := download(t, server.URL, sessions[0], ids[0]); size < 2*6*printed {
		t.Errorf("the result has %d bytes of JSON, want %d or more", size, 2*6*printed)
	}
	close(stop)
	<-measured
	t.Logf("idle %d MiB, at most %d MiB with %d sandboxes that print NULs", idle>>20, most>>20, n)
	return most - idle
}

// download reads a result as it comes, and returns how many bytes of JSON it has.
func download(t *testing.T, url, session, id string) int64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/sessions/"+session+"/result?execution_id="+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	size, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the result of %s: %s, %v", id, resp.Status, err)
	}
	return size
}

// TestPrintersCostLittle: sandboxes that print NULs at full speed cost the server at most 64 MiB.
func TestPrintersCostLittle(t *testing.T) {
	if above := cost(t, 10); above > costGoal {
		t.Errorf("ten sandboxes that print NULs cost the server %d MiB, want at most %d", above>>20, costGoal>>20)
	}
}

// TestSmallServer: in 150 MB a server takes the output of 50 executions of 8 MiB at once, is killed, starts again and has every result.
func TestSmallServer(t *testing.T) {
	group := smallGroup(t)
	binary := filepath.Join(t.TempDir(), "yurt-in-group")
	script := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s \"$@\"\n", group, testutil.BuildYurt(t, "yurt", "test"))
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	run := func() *devserver.Server {
		server, err := devserver.Start(context.WithoutCancel(t.Context()), binary, state, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return server
	}
	server := run()
	stop := func() { _ = server.Stop() }
	defer func() { stop() }()
	const sessions, each = 5, 10
	executions := map[string][]string{}
	c := client(t, server.URL)
	for range sessions {
		s := session(t, c)
		for range each {
			executions[s] = append(executions[s], start(t, c, s, text()))
		}
	}
	for range 2 {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		server = run()
		c = client(t, server.URL)
	}
	for s, ids := range executions {
		ended(t, c, s, ids)
		for _, id := range ids {
			if size := download(t, server.URL, s, id); size < printed {
				t.Errorf("the result of %s has %d bytes, want %d or more", id, size, printed)
			}
		}
	}
	if !server.Running() {
		t.Error("the server has ended")
	}
	if kills := field(t, filepath.Join(group, "memory.oom_control"), "oom_kill"); kills > 0 {
		t.Errorf("the kernel killed %d processes of the server's cgroup", kills)
	}
}

// smallGroup makes a memory cgroup of 150 MB below that of the test.
func smallGroup(t *testing.T) string {
	t.Helper()
	table, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	group := ""
	for line := range strings.Lines(string(table)) {
		if fields := strings.SplitN(strings.TrimSpace(line), ":", 3); len(fields) == 3 && fields[1] == "memory" {
			group = filepath.Join("/sys/fs/cgroup/memory", fields[2], fmt.Sprintf("yurt-output-test-%d", os.Getpid()))
		}
	}
	if group == "" {
		t.Fatal("this test needs the memory controller of cgroup v1")
	}
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.Remove(group)
		for deadline := time.Now().Add(10 * time.Second); err != nil && !errors.Is(err, os.ErrNotExist) && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			err = os.Remove(group)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), []byte(strconv.Itoa(smallRoom)), 0o600); err != nil {
		t.Fatal(err)
	}
	return group
}

// field returns a number of a file of a cgroup.
func field(t *testing.T, path, name string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}
