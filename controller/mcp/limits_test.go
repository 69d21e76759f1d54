package mcp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/mcp"
)

func TestSandboxesOfClientAreLimited(t *testing.T) {
	w := newWorld(t, func(c *mcp.Config) { c.Limits.Sandboxes = 2 })
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	one, other := connectTo(t, "one", server.URL), connectTo(t, "other", server.URL)
	first, _ := call(t, one, "create_sandbox", nil)["sandbox_id"].(string)
	call(t, one, "run_code", object{"code": "echo x"})
	refused(t, one, "create_sandbox", nil, "overloaded", "2 sandboxes", "terminate_sandbox")
	refused(t, one, "run_code", object{"code": "echo x"}, "overloaded")
	call(t, other, "create_sandbox", nil)
	call(t, one, "terminate_sandbox", object{"sandbox_id": first})
	call(t, one, "create_sandbox", nil)
}

// TestLimitsChange: a client may have no more than a running server is told.
func TestLimitsChange(t *testing.T) {
	w := newWorld(t)
	session := w.connect(t, "one")
	call(t, session, "create_sandbox", nil)
	w.Limit(func(l *mcp.Limits) { l.Sandboxes = 1 })
	refused(t, session, "create_sandbox", nil, "overloaded", "1 sandboxes", "terminate_sandbox")
	w.Limit(func(l *mcp.Limits) { l.Sandboxes = 2 })
	call(t, session, "create_sandbox", nil)
}

// TestTerminateDeletesResults: the results of a sandbox outlive it, unless its end asks for them to be deleted.
func TestTerminateDeletesResults(t *testing.T) {
	w := newWorld(t)
	session := w.connect(t, "tidy")
	for forget, want := range map[bool]int{false: 1, true: 0} {
		id, _ := call(t, session, "create_sandbox", nil)["sandbox_id"].(string)
		call(t, session, "run_code", object{"sandbox_id": id, "code": "echo x"})
		call(t, session, "terminate_sandbox", object{"sandbox_id": id, "delete_results": forget})
		left, err := w.ctl.Executions(t.Context(), id, contract.ExecutionQuery{Limit: 10})
		if err != nil || len(left) != want {
			t.Errorf("with delete_results %v there are %d executions (%v), want %d", forget, len(left), err, want)
		}
	}
}

// Sandboxes that are made at once count as those that are there.
func TestSandboxesMadeAtOnceAreLimited(t *testing.T) {
	w := newWorld(t, func(c *mcp.Config) { c.Limits.Sandboxes = 3 })
	session := w.connect(t, "hasty")
	var (
		made, full int
		mu         sync.Mutex
		all        sync.WaitGroup
	)
	for range 12 {
		all.Go(func() {
			result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "create_sandbox"})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case result.IsError && strings.Contains(textOf(result), "overloaded"):
				full++
			case !result.IsError:
				made++
			}
		})
	}
	all.Wait()
	if made < 1 || made > 3 || made+full != 12 {
		t.Errorf("%d sandboxes were made and %d refused of 12 at once, expected at most 3", made, full)
	}
	for i := made; i < 3; i++ {
		call(t, session, "create_sandbox", nil)
	}
	refused(t, session, "create_sandbox", nil, "overloaded")
}

func TestCallsOfClientAreLimited(t *testing.T) {
	w := newWorld(t, func(c *mcp.Config) { c.Limits.Calls = 1 })
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	one, other := connectTo(t, "one", server.URL), connectTo(t, "other", server.URL)
	id, _ := call(t, one, "create_sandbox", nil)["sandbox_id"].(string)
	ended := make(chan error, 1)
	go func() {
		result, err := one.CallTool(context.Background(), &sdk.CallToolParams{Name: "run_code", Arguments: object{"sandbox_id": id, "code": "block echo x"}})
		if err == nil && result.IsError {
			err = fmt.Errorf("%s", textOf(result))
		}
		ended <- err
	}()
	waitRunning(t, w, id)
	refused(t, one, "list_sandboxes", nil, "overloaded", "1 calls")
	call(t, other, "list_sandboxes", nil)
	w.node.Release()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	call(t, one, "list_sandboxes", nil)
}
