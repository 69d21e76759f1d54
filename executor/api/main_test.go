package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/api"
	"github.com/yurtrun/yurt/test/testutil"
)

// callerEnv makes the test binary play a caller of the socket that it names.
const callerEnv = "YURT_TEST_CALL"

func TestMain(m *testing.M) {
	if socket := os.Getenv(callerEnv); socket != "" {
		client, err := api.NewUnixClient(socket)
		if err == nil {
			_, err = client.Describe(context.Background())
		}
		fmt.Println(yurt.CodeOf(err), err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve offers the node on a socket of its own, and returns a client of it.
func serve(t testing.TB, node api.Node) (*api.Client, string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "sock")
	serveAt(t, node, socket)
	return dial(t, socket), socket
}

// serveAt offers the node on the socket until the test ends or the answer is called.
func serveAt(t testing.TB, node api.Node, socket string) (stop func()) {
	t.Helper()
	listener, err := api.ListenUnix(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	server := api.NewServer(api.ServerConfig{Node: node, Name: "test", Version: "v1", Logger: slog.New(slog.DiscardHandler)})
	server.ServeUnix(listener)
	stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func dial(t testing.TB, socket string) *api.Client {
	t.Helper()
	client, err := api.NewUnixClient(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// node returns a client of a real executor.
func node(t testing.TB) (*api.Client, *executor.Executor) {
	t.Helper()
	e := testutil.Executor(t)
	client, _ := serve(t, e)
	return client, e
}

func create(t testing.TB, client *api.Client) yurt.Sandbox {
	t.Helper()
	sandbox, err := client.CreateSandbox(t.Context(), testutil.Spec())
	if err != nil {
		t.Fatal(err)
	}
	return sandbox
}

func command(line string) yurt.ExecutionSpec {
	return yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/sh", "-c", line},
		Timeout: yurt.Duration(yurt.DefaultExecutionTimeout), OutputLimit: yurt.MaxOutputLimit,
	}
}

func run(t testing.TB, client *api.Client, sandbox, line string) *yurt.Result {
	t.Helper()
	spec := command(line)
	if err := client.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatal(err)
	}
	result, err := client.AwaitExecution(t.Context(), sandbox, spec.ID)
	if err == nil {
		result, err = result.Whole(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}
