package e2e

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
)

// After kill -9 and a restart, sessions are found again with their files, and an
// execution that ran on meanwhile is all there.
func TestKilledServerFindsItsSessionsAgain(t *testing.T) {
	t.Parallel()
	needsSandboxes(t)
	stateDir := t.TempDir()
	first := start(t, stateDir)
	client := connect(t, first)
	session := create(t, client, "shell-basic")
	shell(t, client, session.ID, "echo kept > file")
	running, err := client.Start(t.Context(), session.ID, yurtclient.ExecuteRequest{
		Command: yurtclient.Command{Shell: "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.2; done"},
	})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // it goes on without a client

	second := start(t, stateDir)
	client = connect(t, second)
	if kept := shell(t, client, session.ID, "cat file"); kept.Stdout != "kept\n" {
		t.Errorf("the file holds %q", kept.Stdout)
	}
	var out strings.Builder
	if err := client.WatchExecution(t.Context(), session.ID, running.ID, 0, func(e yurt.Event) error {
		out.Write(e.Data)
		return nil
	}); err != nil {
		t.Error(err)
	}
	if want := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"; out.String() != want {
		t.Errorf("its output is %q, want %q", out.String(), want)
	}
	if _, err := client.EndSession(t.Context(), session.ID); err != nil {
		t.Error(err)
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, stateDir)
}

// TestKilledExecutorFindsItsSessionsAgain: the broker starts it again, and the sessions go on with their files and executions.
func TestKilledExecutorFindsItsSessionsAgain(t *testing.T) {
	t.Parallel()
	needsSandboxes(t)
	stateDir := t.TempDir()
	server := startAt(t, stateDir, freeAddress(t))
	client := connect(t, server)
	session := create(t, client, "shell-basic")
	shell(t, client, session.ID, "echo kept > file")
	running, err := client.Start(t.Context(), session.ID, yurtclient.ExecuteRequest{
		Command: yurtclient.Command{Shell: "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.2; done"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := server.KillExecutor(); err != nil {
			t.Fatal(err)
		}
		testutil.Eventually(t, "the server is ready again", func() bool {
			answer, err := http.Get(server.URL + "/ready")
			if err != nil {
				return false
			}
			return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
		})
	}
	if !server.Running() {
		t.Error("the broker has ended too")
	}
	if kept := shell(t, client, session.ID, "cat file"); kept.Stdout != "kept\n" {
		t.Errorf("the file holds %q", kept.Stdout)
	}
	var out strings.Builder
	if err := client.WatchExecution(t.Context(), session.ID, running.ID, 0, func(e yurt.Event) error {
		out.Write(e.Data)
		return nil
	}); err != nil {
		t.Error(err)
	}
	if want := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"; out.String() != want {
		t.Errorf("its output is %q, want %q", out.String(), want)
	}
	create(t, client, "shell-basic")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, stateDir)
}

// freeAddress returns an address that a server can have in one life after the other.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// A sandbox that dies while no server runs ends its session with a reason.
func TestSessionThatLostItsSandboxEndsWithAReason(t *testing.T) {
	t.Parallel()
	needsSandboxes(t)
	stateDir := t.TempDir()
	first := start(t, stateDir)
	session := create(t, connect(t, first), "shell-basic")
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	killSandboxes(t, stateDir)
	second := start(t, stateDir)
	client := connect(t, second)
	ended := waitFor(t, client, session.ID, yurt.SessionFailed)
	if ended.Reason == "" {
		t.Error("the session failed without a reason")
	}
	if _, err := client.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"true"}}}); yurt.CodeOf(err) != yurt.CodeSessionEnded {
		t.Errorf("executing in it: %v, want %s", err, yurt.CodeSessionEnded)
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, stateDir)
}

// Ctrl-C ends the sessions too, and everything that runs in them.
func TestStoppedServerLeavesNothing(t *testing.T) {
	t.Parallel()
	needsSandboxes(t)
	stateDir := t.TempDir()
	server := start(t, stateDir)
	client := connect(t, server)
	for range 3 {
		session := create(t, client, "shell-basic")
		if _, err := client.Start(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"sleep", "1717"}}}); err != nil {
			t.Fatal(err)
		}
	}
	somethingThere(t, stateDir)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, stateDir)
}

func start(t *testing.T, stateDir string) *devserver.Server {
	t.Helper()
	return startAt(t, stateDir, "127.0.0.1:0")
}

func startAt(t *testing.T, stateDir, address string) *devserver.Server {
	t.Helper()
	server, err := devserver.Start(context.Background(), binary(t, "yurt"), stateDir, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Kill(), os.RemoveAll(leftovers.RunDir(stateDir))); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(server.LogTail())
		}
	})
	return server
}

// killSandboxes kills the first process of every sandbox of the server.
func killSandboxes(t *testing.T, stateDir string) {
	t.Helper()
	there, err := leftovers.Of(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, p := range there.Processes {
		if strings.Contains(p.Exe, "yurt-init") {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			killed++
		}
	}
	if killed == 0 {
		t.Fatalf("no sandbox is there to kill among\n%s", there)
	}
}

// somethingThere makes sure that nothingLeft would find it.
func somethingThere(t *testing.T, stateDir string) {
	t.Helper()
	there, err := leftovers.Of(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(there.Processes) < 2 || len(there.Cgroups) == 0 || len(there.Directories) == 0 {
		t.Fatalf("while sandboxes run, all that is found is\n%s", there)
	}
}

func nothingLeft(t *testing.T, stateDir string) {
	t.Helper()
	left, err := leftovers.Gone(t.Context(), stateDir, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if left.Count() > 0 {
		t.Errorf("this is left:\n%s", left)
	}
}
