package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // registers the driver

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestKilledBetweenAnswerAndCommit: who executes in a persistent session is answered before the
// end is stored. A server that is killed in between has it all the same when it is started again.
func TestKilledBetweenAnswerAndCommit(t *testing.T) {
	needsSandboxes(t)
	stateDir := t.TempDir()
	first := start(t, stateDir)
	client := connect(t, first)
	session := create(t, client, "python-basic")
	waiting := filepath.Join(workspaceOf(t, client), "waiting")
	type answer struct {
		execution yurt.Execution
		err       error
	}
	answered := make(chan answer, 1)
	go func() {
		execution, err := client.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Language: "python", Code: "import os\n" +
			"open('waiting', 'w').close()\nwhile os.path.exists('waiting'):\n    pass\nprint('done')\n6 * 7"})
		answered <- answer{execution, err}
	}()
	awaitFile(t, waiting)
	unlock := lockStore(t, filepath.Join(stateDir, "yurt.db"))
	if err := os.Remove(waiting); err != nil {
		t.Fatal(err)
	}
	told := <-answered
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	unlock()
	if told.err != nil || string(told.execution.Result.Result) != "42" {
		t.Fatalf("the answer was %+v, %v", told.execution.Result, told.err)
	}
	if log, err := os.ReadFile(filepath.Join(stateDir, "server.log")); err != nil || strings.Contains(string(log), "storing a result") {
		t.Errorf("the answer waited until the end could not be stored: %v", err)
	}

	second := start(t, stateDir)
	client = connect(t, second)
	if err := client.WatchExecution(t.Context(), session.ID, told.execution.ID, 0, func(yurt.Event) error { return nil }); err != nil {
		t.Error(err)
	}
	again, err := client.Execution(t.Context(), session.ID, told.execution.ID)
	if err != nil || again.State != yurt.ExecutionSucceeded || string(again.Result.Result) != "42" || again.Result.Stdout != "done\n" {
		t.Errorf("started again it has %+v, result %+v, %v", again, again.Result, err)
	}
	if list, err := client.Executions(t.Context(), session.ID, ""); err != nil || len(list.Executions) != 1 {
		t.Errorf("the executions are %+v, %v", list, err)
	}
	waitFor(t, client, session.ID, yurt.SessionReady)
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, stateDir)
}

// workspaceOf is where the host sees the workspace of the only sandbox.
func workspaceOf(t *testing.T, client *yurtclient.Client) string {
	t.Helper()
	containers, err := client.Containers(t.Context())
	if err != nil || len(containers) != 1 {
		t.Fatalf("the sandboxes are %+v, %v", containers, err)
	}
	return fmt.Sprintf("/proc/%d/root%s", containers[0].PID, yurt.WorkspaceDir)
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		_, err := os.Stat(path)
		if err == nil {
			return
		}
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// lockStore keeps everybody else from writing to the server's store until unlock is called.
func lockStore(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}
