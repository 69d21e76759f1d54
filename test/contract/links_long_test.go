//go:build long

package contract_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// linkGroups are the operations below a session, in groups of which each is small enough for a walk by
// chance to come to all of its members. A walk begins with a new session.
func linkGroups() map[string][]string {
	return map[string][]string{
		"session": {
			"get-session", "list-session-events", "get-session-logs", "get-session-metrics", "set-session-timeout", "create-token", "end-session",
		},
		"pauses": {"pause-session", "resume-session"},
		"executions": {
			"execute", "get-status", "get-result", "list-executions", "get-execution", "cancel-execution",
		},
		"input":     {"execute", "write-stdin"},
		"terminals": {"execute", "signal-execution", "resize-execution"},
		"contexts":  {"execute", "list-contexts", "restart-context", "delete-context"},
		"questions": {"execute", "complete-in-context", "inspect-in-context"},
		"processes": {"execute", "list-processes", "kill-process"},
		"signals":   {"execute", "list-processes", "signal-process"},
		"files":     {"put-file", "get-file", "delete-file", "list-files", "archive-files"},
		"changes":   {"put-file", "change-file"},
		// A watch lasts until its session ends, which hooks.py takes care of.
		"watches": {"execute", "watch-execution", "watch-files"},
	}
}

// notSpoken is a WebSocket, which schemathesis does not speak.
const notSpoken = "open-terminal"

// statefulFor is how long the links of all operations are followed, however long the groups took.
const statefulFor = 10 * time.Minute

// TestSchemathesisFollowsLinks has schemathesis follow the links of the document from new sessions until
// each operation below a session has succeeded, and then the links of all operations for ten minutes.
func TestSchemathesisFollowsLinks(t *testing.T) {
	c := startChecker(t)
	left := c.belowSession(t)
	for name, operations := range linkGroups() {
		t.Run(name, func(t *testing.T) {
			missing := c.missing(t, operations)
			const seed, walks = 16, 12 // chance decides what a walk comes to, so that most need one or two, and a busy machine more
			for i := 0; i < walks && len(missing) > 0; i++ {
				c.walk(t, seed+i, append([]string{"create-session"}, operations...)...)
				missing = c.missing(t, operations)
			}
			if len(missing) > 0 {
				t.Errorf("no request of these succeeded: %v", missing)
			}
		})
		left = slices.DeleteFunc(left, func(operation string) bool { return slices.Contains(operations, operation) })
	}
	if !slices.Equal(left, []string{notSpoken}) {
		t.Errorf("the operations %v are in no group, want %s alone", left, notSpoken)
	}
	t.Run("all", func(t *testing.T) {
		walks := 0
		for begun := time.Now(); time.Since(begun) < statefulFor && !t.Failed(); walks++ {
			c.walk(t, walks)
		}
		t.Logf("%d walks over all operations in %s", walks, statefulFor)
	})
}

// walk follows the links between operations, or between all of them, as the seed has it.
func (c *schemaChecker) walk(t *testing.T, seed int, operations ...string) {
	t.Helper()
	flags := []string{"--phases", "stateful", "--mode", "positive", "--seed", strconv.Itoa(seed), "--max-examples", "25"}
	for _, operation := range operations {
		flags = append(flags, "--include-operation-id", operation)
	}
	c.run(t, []string{"LEAD_ON=1"}, flags...)
}

// missing returns which of the operations have not succeeded yet.
func (c *schemaChecker) missing(t *testing.T, operations []string) []string {
	t.Helper()
	text, err := os.ReadFile(c.answers())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	succeeded := strings.Fields(string(text))
	return slices.DeleteFunc(slices.Clone(operations), func(operation string) bool { return slices.Contains(succeeded, operation) })
}

// belowSession returns the operations on a session that the document has.
func (c *schemaChecker) belowSession(t *testing.T) (operations []string) {
	t.Helper()
	resp, err := http.Get(c.url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var document described
	if err := json.NewDecoder(resp.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	for path, verbs := range document.Paths {
		for _, op := range verbs {
			if strings.HasPrefix(path, "/api/v1/sessions/{id}") {
				operations = append(operations, op.OperationID)
			}
		}
	}
	return operations
}
