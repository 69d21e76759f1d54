package api

import (
	"net"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/proto"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestRunExecutionAtAnOlderExecutor asks one that does not know the call.
func TestRunExecutionAtAnOlderExecutor(t *testing.T) {
	e := testutil.Executor(t)
	sandbox, err := e.CreateSandbox(t.Context(), testutil.Spec())
	if err != nil {
		t.Fatal(err)
	}
	older := proto.Executions_ServiceDesc
	older.Streams = slices.DeleteFunc(slices.Clone(older.Streams), func(s grpc.StreamDesc) bool { return s.StreamName == "Run" })
	server := grpc.NewServer()
	server.RegisterService(&older, &executionServer{node: e})
	socket := filepath.Join(t.TempDir(), "sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	client, err := NewUnixClient(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/echo", "here"},
		Timeout: yurt.Duration(yurt.DefaultExecutionTimeout), OutputLimit: yurt.DefaultOutputLimit,
	}
	wait, err := client.RunExecution(t.Context(), sandbox.ID, spec)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := wait(t.Context()); err != nil || result.Stdout != "here\n" {
		t.Errorf("the result is %+v, %v", result, err)
	}
}
