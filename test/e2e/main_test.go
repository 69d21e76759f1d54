package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/leftovers"
)

// TestMain builds the programs that the tests run, which takes no time when they are up to date.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	if out, err := exec.Command("make", "-C", "../..", "build").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building what the tests run: %v\n%s", err, out)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// needsSandboxes is called first by every test here.
func needsSandboxes(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("makes sandboxes")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test makes sandboxes, which needs root; run it as root, or run `make check` for what does not")
	}
}

// binary returns the path of a built program.
func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../bin", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a server that ends with the test, and returns a client of it.
func serve(t *testing.T) *yurtclient.Client {
	t.Helper()
	client, _ := serveProcess(t)
	return client
}

// serveProcess is serve for tests that look at the server's process too. When the test ends, so
// does the server, which must leave no remains.
func serveProcess(t *testing.T) (*yurtclient.Client, *devserver.Server) {
	t.Helper()
	needsSandboxes(t)
	stateDir := t.TempDir()
	server, err := devserver.Start(context.Background(), binary(t, "yurt"), stateDir, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		left, err := leftovers.Gone(context.Background(), stateDir, 5*time.Second)
		if err != nil || left.Count() > 0 {
			t.Errorf("this is left: %v\n%s", err, left)
		}
		if t.Failed() {
			t.Log(server.LogTail())
		}
	})
	return connect(t, server), server
}

func connect(t *testing.T, server *devserver.Server) *yurtclient.Client {
	t.Helper()
	return contract.Client(t, server.URL)
}

// create makes a persistent session.
func create(t *testing.T, client *yurtclient.Client, template string, change ...func(*yurtclient.CreateSessionRequest)) yurt.Session {
	t.Helper()
	req := yurtclient.CreateSessionRequest{TemplateID: template, Mode: yurt.ModePersistent}
	for _, c := range change {
		c(&req)
	}
	session, err := client.CreateSession(t.Context(), req)
	if err != nil {
		t.Fatalf("creating a session: %v", err)
	}
	return session
}

// shell runs a shell line and wants it to succeed.
func shell(t *testing.T, client *yurtclient.Client, session, line string) *yurt.Result {
	t.Helper()
	result := execute(t, client, session, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: line}})
	if result.ExitCode != 0 {
		t.Fatalf("%s: exit code %d, stdout %q, stderr %q, error %+v", line, result.ExitCode, result.Stdout, result.Stderr, result.Error)
	}
	return result
}

// execute runs req, with any outcome.
func execute(t *testing.T, client *yurtclient.Client, session string, req yurtclient.ExecuteRequest) *yurt.Result {
	t.Helper()
	execution, err := client.Execute(t.Context(), session, req)
	if err != nil {
		t.Fatalf("executing: %v", err)
	}
	return execution.Result
}
