package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestSessionWhoseSandboxDies kills the first process of a sandbox, as the host does
// that is out of memory.
func TestSessionWhoseSandboxDies(t *testing.T) {
	t.Parallel()
	client, _ := serveProcess(t)
	session := create(t, client, "shell-basic")
	started, err := client.Start(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "sleep 1000"}})
	if err != nil {
		t.Fatal(err)
	}
	containers, err := client.Containers(t.Context())
	if err != nil || len(containers) != 1 || containers[0].ID != session.SandboxID || containers[0].State != yurt.SandboxReady {
		t.Fatalf("the sandboxes are %+v, %v", containers, err)
	}
	if err := syscall.Kill(containers[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); session.State != yurt.SessionFailed; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the session is %s", session.State)
		}
		if session, err = client.Session(t.Context(), session.ID); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(session.Reason, "its sandbox died: ") {
		t.Errorf("the session failed since %q", session.Reason)
	}
	events, err := client.SessionEvents(t.Context(), session.ID)
	if err != nil || len(events) == 0 || events[len(events)-1].To != yurt.SessionFailed {
		t.Errorf("its events are %+v, %v", events, err)
	}
	var result *yurt.Result
	err = client.WatchExecution(t.Context(), session.ID, started.ID, 0, func(e yurt.Event) error {
		result = e.Result
		return nil
	})
	if err != nil || result == nil || result.Error == nil || result.Error.Type != yurt.ErrorTypeSandboxLost {
		t.Errorf("what ran in it ended with %+v, %v", result, err)
	}
}
