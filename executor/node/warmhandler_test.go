package node_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// handler is the invocation of a Python handler whose process may stay.
func handler(body string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return testutil.Python("count = 0\ndef handler(event, context):\n    global count\n    count += 1\n    "+body, append(change, func(s *yurt.ExecutionSpec) {
		s.Kind, s.Handler, s.Event, s.ContextOptional = yurt.KindHandler, "handler", json.RawMessage("{}"), true
	})...)
}

// TestHandlersThatStayWarmAreForked, on a node with cgroup v1, where an interpreter was started ahead: a handler finds
// the same state as in an interpreter that was started for it.
func TestHandlersThatStayWarmAreForked(t *testing.T) {
	e := testutil.Executor(t)
	s := claimAhead(t, e)
	const body = `import os, sys, threading
    print("count", count)
    seen = {
        "environment": sorted((k, v) for k, v in os.environ.items() if k not in ("OTHER", "YURT_EXECUTION_ID")),
        "process": [os.getpid() == os.getsid(0) == os.getpgid(0), os.getppid(), os.getuid(), os.getcwd(), os.umask(0o22)],
        "interpreter": [sys.argv, sys.path, str(sys.flags), sys.stdin.read(), sys.stdout.line_buffering, __name__, threading.active_count()],
        "descriptors": sorted(os.listdir("/proc/self/fd"))[:3],
    }
    return [` + isFork + `, seen]`
	other := func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"OTHER": "1"} }
	for _, stdout := range []string{"count 1\n", "count 2\n"} {
		forked, fresh := testutil.Execute(t, e, s.ID, handler(body)), testutil.Execute(t, e, s.ID, handler(body, other))
		got, isForked := strings.CutPrefix(string(forked.Result), "[1,")
		want, isFresh := strings.CutPrefix(string(fresh.Result), "[0,")
		if !isForked || !isFresh || got != want || forked.Stdout != stdout || fresh.Stdout != stdout {
			t.Errorf("forked: %s, %q, %q, %+v\nfresh: %s, %q, %q, %+v", forked.Result, forked.Stdout, forked.Stderr, forked.Error, fresh.Result, fresh.Stdout, fresh.Stderr, fresh.Error)
		}
	}
	// It ends as any other, and the next is told.
	if r := testutil.Execute(t, e, s.ID, handler(`if count == 2: os = __import__("os"); os._exit(7)`)); r.Error != nil {
		t.Errorf("%+v, stderr %q", r.Error, r.Stderr)
	}
	if r := testutil.Execute(t, e, s.ID, handler(`if count == 2: os = __import__("os"); os._exit(7)`)); r.Error == nil || r.Error.Type != "Runtime.ExitError" || !r.StateLost {
		t.Errorf("%+v, state lost: %t", r.Error, r.StateLost)
	}
	if r := testutil.Execute(t, e, s.ID, handler(`return `+isFork)); string(r.Result) != "1" {
		t.Errorf("after that: %s, %+v, stderr %q", r.Result, r.Error, r.Stderr)
	}
}
