package mcp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
)

// cable is the network of a client, which can be pulled out for good.
type cable struct {
	mu     sync.Mutex
	pulled bool
	conns  []net.Conn
}

func (c *cable) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pulled {
			return nil, errors.New("the cable is out")
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		c.conns = append(c.conns, conn)
		return conn, err
	}}}
}

func (c *cable) pull() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = true
	for _, conn := range c.conns {
		conn.Close()
	}
}

// TestClientDisconnectsInTheMiddle: where a client of the newest revision is gone, its code is interrupted, and the sandbox that was made for the
// call ends. A client of an older one may come back to its connection; the server ends all with the connection.
func TestClientDisconnectsInTheMiddle(t *testing.T) {
	t.Parallel()
	url, client := testutil.Serve(t, yurt(t))
	for name, revision := range map[string]string{"newest": "2026-07-28", "older": "2025-11-25"} {
		t.Run(name, func(t *testing.T) {
			var out cable
			a := converse(t, &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: out.client(), MaxRetries: -1}, revision)
			called := make(chan error, 1)
			go func() {
				_, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: object{"code": sleeps}})
				called <- err
			}()
			box := awaitRun(t, client)
			out.pull()
			if err := <-called; err == nil {
				t.Fatal("the call succeeded without a connection")
			}
			if name == "older" {
				time.Sleep(2 * time.Second)
				if n := running(t, box); n != 1 {
					t.Fatalf("%d processes run while the connection of MCP goes on, expected 1", n)
				}
				endConnection(t, url, a.ID(), revision)
			}
			testutil.Eventually(t, "the sandbox of the call has ended", func() bool {
				session, err := client.Session(t.Context(), box.ID)
				return err == nil && session.State.Ended()
			})
			nothingLives(t, client)
		})
	}
}

// TestClientDisconnectsFromItsSandbox: code in a sandbox that a client made itself is interrupted, and the sandbox stays as it is.
func TestClientDisconnectsFromItsSandbox(t *testing.T) {
	t.Parallel()
	url, client := testutil.Serve(t, yurt(t))
	var out cable
	a := converse(t, &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: out.client(), MaxRetries: -1}, "2026-07-28")
	id, _ := a.does("create_sandbox", object{})["sandbox_id"].(string)
	a.does("run_code", object{"sandbox_id": id, "code": "kept = 42"})
	called := make(chan error, 1)
	go func() {
		_, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: object{"code": sleeps, "sandbox_id": id}})
		called <- err
	}()
	box := awaitRun(t, client)
	out.pull()
	if err := <-called; err == nil {
		t.Fatal("the call succeeded without a connection")
	}
	testutil.Eventually(t, "the code is interrupted", func() bool { return running(t, box) == 0 })
	again := converse(t, &sdk.StreamableClientTransport{Endpoint: url + "/mcp"}, "")
	defer again.Close()
	if value := again.does("run_code", object{"sandbox_id": id, "code": "kept"})["result"]; value != 42. {
		t.Errorf("the variable of the sandbox is %v, expected the one from before", value)
	}
	again.does("terminate_sandbox", object{"sandbox_id": id})
	nothingLives(t, client)
}

// TestAgentClosesInputInTheMiddle: yurt mcp whose agent closes the pipe while code runs ends, and leaves no trace.
func TestAgentClosesInputInTheMiddle(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), yurt(t), "mcp")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "YURT_SERVER=", "YURT_URL=")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := converse(t, &sdk.IOTransport{Reader: out, Writer: in}, "")
	called := make(chan error, 1)
	go func() {
		_, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: object{"code": sleeps}})
		called <- err
	}()
	var state string
	testutil.Eventually(t, "the code runs", func() bool {
		ran, err := filepath.Glob(filepath.Join(temp, "yurt-run-*"))
		if err != nil || len(ran) != 1 {
			return false
		}
		state = ran[0]
		there, err := leftovers.Of(state)
		return err == nil && slices.ContainsFunc(there.Processes, func(p leftovers.Process) bool { return p.Name == "sleep" })
	})
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	endsWithin(t, cmd, state, 20*time.Second)
	if err := <-called; err == nil {
		t.Error("the call succeeded after its agent had left")
	}
}

// endConnection ends the connection of a client before 2026-07-28.
func endConnection(t *testing.T, url, connection, revision string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", connection)
	req.Header.Set("Mcp-Protocol-Version", revision)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("the end of the connection answers %s", resp.Status)
	}
}
