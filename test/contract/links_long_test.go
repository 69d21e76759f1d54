//go:build long

package contract_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
)

// leastReached is how many of the operations below a session have to succeed at least once. A run
// at rest reached 21 of 32; one on a busy machine may miss some that follow others.
const leastReached = 18

// TestSchemathesisFollowsLinks has schemathesis follow the links of the document from new sessions.
// It chooses its way by chance, whatever the seed.
func TestSchemathesisFollowsLinks(t *testing.T) {
	c := startChecker(t)
	c.run(t, []string{"LEAD_ON=1"}, "--phases", "examples,stateful", "--mode", "positive", "--seed", "16", "--max-time", "60",
		"--include-path-regex", "^/api/v1/(sessions|containers)")
	if reached := c.reached(t); len(reached) < leastReached {
		t.Errorf("%d operations below a session succeeded, want %d or more: %v", len(reached), leastReached, reached)
	}
}

// reached returns the operations below a session that succeeded.
func (c *schemaChecker) reached(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(c.answers())
	if err != nil {
		t.Fatal(err)
	}
	succeeded := map[string]bool{}
	for name := range strings.FieldsSeq(string(text)) {
		succeeded[name] = true
	}
	var document described
	resp, err := http.Get(c.url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	var reached []string
	for path, verbs := range document.Paths {
		for _, op := range verbs {
			if strings.HasPrefix(path, "/api/v1/sessions/{id}") && succeeded[op.OperationID] {
				reached = append(reached, op.OperationID)
			}
		}
	}
	return reached
}
