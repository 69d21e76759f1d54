package packages

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/egress"
)

// TestFailuresHaveToWait: a session that asks for one missing package after the other is told
// to wait, and another session, or code that needs no package, is not.
func TestFailuresHaveToWait(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	host, err := egress.HostOf(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	e := node(t, func(c *executor.Config) {
		c.Packages.Hosts, c.Packages.Env = []egress.Host{host}, map[string]string{"PIP_INDEX_URL": server.URL, "PIP_RETRIES": "0"}
	})
	hostile, other := sandbox(t, e, "python"), sandbox(t, e, "python")
	refused := func(sandbox, name string) bool {
		o := run(t, e, sandbox, needs(name, "print(1)"))
		if o.Error == nil || o.Error.Type != yurt.ErrorTypeDependency {
			t.Fatalf("%s: exit %d, %+v", name, o.ExitCode, o.Error)
		}
		return strings.Contains(o.Error.Message, "failed one after the other")
	}
	for i := range 5 {
		if refused(hostile, fmt.Sprintf("missing%d", i)) {
			t.Errorf("failure %d had to wait", i)
		}
	}
	attempts := 0
	for !refused(hostile, fmt.Sprintf("more%d", attempts)) { // a slow machine may have waited long enough, which doubles
		if attempts++; attempts == 10 {
			t.Fatal("it is installed without end")
		}
	}
	if refused(other, "missing") {
		t.Error("another session has to wait too")
	}
	wantOutput(t, run(t, e, hostile, yurt.ExecutionSpec{Language: "python", Code: "print(2)"}), "2\n")
}
