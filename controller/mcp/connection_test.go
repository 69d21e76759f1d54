package mcp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

func (w *world) live(t testing.TB) []yurt.Session {
	t.Helper()
	live, err := w.ctl.Sessions(t.Context(), contract.SessionQuery{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// TestEndOfConnection: a client that ends its connection is answered at once. Its calls end, and so does the sandbox that run_code
// made for it.
func TestEndOfConnection(t *testing.T) {
	w := newWorld(t)
	c, bystander := w.dial(t), w.dial(t)
	made := call(t, w.connect(t, "another"), "create_sandbox", nil)["sandbox_id"]
	tool := func(c *wire, id, arguments string) string {
		_, _, answer := c.do(t, "POST", `{"jsonrpc": "2.0", "id": `+id+`, "method": "tools/call", "params": {"name": "run_code", "arguments": `+arguments+`}}`)
		return answer
	}
	tool(bystander, `2`, `{"code": "echo x"}`)
	said := make(chan string, 2)
	go func() { said <- tool(c, `3`, `{"code": "trap", "sandbox_id": "`+made.(string)+`"}`) }()
	go func() { said <- tool(c, `4`, `{"code": "trap"}`) }()
	for range 500 {
		running := 0
		for _, session := range w.live(t) {
			if session.State == yurt.SessionRunning {
				running++
			}
		}
		if running == 2 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	tool(c, `5`, `{"code": "echo x"}`)
	if n := len(w.live(t)); n != 4 {
		t.Fatalf("%d sandboxes live, expected 4", n)
	}
	begin := time.Now()
	if status, _, answer := c.do(t, "DELETE", ""); status != http.StatusNoContent {
		t.Fatalf("the end of a connection answers %d %s", status, answer)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the end of a connection took %v, expected that it waits for no call", took)
	}
	for range 2 { // calls that end
		if answer := <-said; strings.Contains(answer, "stdout") {
			t.Errorf("a call of the connection that ended answers %s, expected no result", answer)
		}
	}
	for range 500 {
		if len(w.live(t)) == 2 && stateOf(t, w, made.(string)) == yurt.SessionReady {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if live := w.live(t); len(live) != 2 {
		t.Fatalf("%d sandboxes live, expected that of create_sandbox and that of another connection: %+v", len(live), live)
	}
	if state := stateOf(t, w, made.(string)); state != yurt.SessionReady {
		t.Errorf("the sandbox that create_sandbox made is %s, expected that it lives on, and runs nothing", state)
	}
	if status, _, _ := c.do(t, "DELETE", ""); status != http.StatusNotFound {
		t.Errorf("a connection that has ended can be ended with %d, expected 404", status)
	}
}
