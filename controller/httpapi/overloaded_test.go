package httpapi_test

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

// A node that is full says when to come again, and its client hears of it.
func TestOverloadedNodeSaysWhenToComeAgain(t *testing.T) {
	s := newServer(t)
	full := yurt.Errorf(yurt.CodeOverloaded, "this node is full")
	for hint, want := range map[time.Duration]string{0: "1", 5 * time.Second: "5", 1200 * time.Millisecond: "2"} {
		full.RetryAfter = hint
		s.node.Fail("CreateSandbox", full)
		a := s.do(t, "POST", "/api/v1/sessions", `{"template_id": "python-basic"}`)
		wantProblem(t, a, yurt.CodeOverloaded, "")
		if got := a.header.Get("Retry-After"); got != want {
			t.Errorf("the node says %s, and Retry-After is %q", hint, got)
		}
	}
}
