package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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
	code := m.Run()
	if err := common.stop(); err != nil {
		fmt.Fprintf(os.Stderr, "ending the server that tests had in common: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

// shared is a server that tests have in common: a server of its own costs each of them seconds.
type shared struct {
	mu     sync.Mutex
	server *devserver.Server // nil before the first test that asks
	dir    string

	clients sync.Map // of it
}

//nolint:gochecknoglobals // tests have the server in common, and TestMain ends it
var common shared

// start starts the server unless it runs, and returns it.
func (s *shared) start(program string) (*devserver.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return s.server, nil
	}
	dir, err := os.MkdirTemp("", "yurt-e2e-")
	if err != nil {
		return nil, err
	}
	server, err := devserver.Start(context.Background(), program, dir, "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.server, s.dir = server, dir
	return server, nil
}

// stop ends the server, which must leave no remains.
func (s *shared) stop() error {
	if s.server == nil {
		return nil
	}
	err := s.server.Stop()
	left, lookErr := leftovers.Gone(context.Background(), s.dir, 5*time.Second)
	if left.Count() > 0 {
		lookErr = errors.Join(lookErr, fmt.Errorf("this is left:\n%s", left))
	}
	return errors.Join(err, lookErr, os.RemoveAll(s.dir))
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

// serve returns a client of the server that tests have in common. It is for tests that look at sessions of their own alone.
func serve(t *testing.T) *yurtclient.Client {
	t.Helper()
	needsSandboxes(t)
	server, err := common.start(binary(t, "yurt"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(server.LogTail())
		}
	})
	client := connect(t, server)
	common.clients.Store(client, true)
	return client
}

// serveProcess starts a server for tests that look at its process, or at all of its sessions. When the test ends, so
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

// create makes a persistent session. On the server that tests have in common it ends with the test.
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
	if _, is := common.clients.Load(client); is {
		t.Cleanup(func() { end(t, client, session.ID) })
	}
	return session
}

// end ends a session that has not ended.
func end(t *testing.T, client *yurtclient.Client, session string) {
	t.Helper()
	_, err := client.EndSession(context.WithoutCancel(t.Context()), session)
	switch yurt.CodeOf(err) {
	case "", yurt.CodeSessionEnded:
	default:
		t.Errorf("ending a session: %v", err)
	}
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
