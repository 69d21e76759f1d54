package contract_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/rig"
)

const (
	// checker is the program that makes requests by the document and holds the answers to it.
	checker = "schemathesis==4.32.5"
	// leastReached is how many of the operations below a session have to succeed at least once. A
	// run at rest reached 21 of 32; a run on a busy machine may miss some that follow others.
	leastReached = 18
)

// TestSchemathesis has schemathesis send the examples of the document and the bounds of each member,
// then follow the links from new sessions.
func TestSchemathesis(t *testing.T) {
	c := startChecker(t)
	c.run(t, nil, "--phases", "examples,coverage", "--generation-deterministic")
	c.run(t, []string{"LEAD_ON=1"}, "--phases", "stateful", "--mode", "positive", "--seed", "16", "--max-time", "15",
		"--include-path-regex", "^/api/v1/(sessions|containers)")
	if reached := c.reached(t); len(reached) < leastReached {
		t.Errorf("%d operations below a session succeeded, want %d or more: %v", len(reached), leastReached, reached)
	}
}

// schemaChecker runs schemathesis on a server that installs no packages: a made-up request is not
// to reach a registry.
type schemaChecker struct {
	python, testdata, dir, url string
}

func startChecker(t *testing.T) *schemaChecker {
	t.Helper()
	tools := venv(t, checker)
	rig.NeedsSandboxes(t)
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, mirror := range []string{"PIP_INDEX_URL", "NPM_CONFIG_REGISTRY", "GOPROXY", "YURT_CARGO_INDEX", "YURT_MAVEN_MIRROR"} {
		t.Setenv(mirror, "")
	}
	program := rig.BuildYurt(t, "yurt-contract", "test")
	server, err := devserver.Run(context.WithoutCancel(t.Context()), program, t.TempDir(), "dev", "--listen", "127.0.0.1:0", "--packages-from", "none")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	// The scripts of the environment name the directory that it was made in, the interpreter does not.
	return &schemaChecker{filepath.Join(tools, "bin", "python"), testdata, t.TempDir(), server.URL}
}

// run checks the server. The configuration and the hooks say which findings are allowed.
func (c *schemaChecker) run(t *testing.T, env []string, flags ...string) {
	t.Helper()
	argv := []string{
		c.python, "-B", "-m", "schemathesis.cli", "--config-file", filepath.Join(c.testdata, "schemathesis.toml"),
		"run", c.url + "/openapi.json", "--continue-on-failure", "--request-timeout", "60", "--suppress-health-check", "all", "--no-color",
	}
	env = append(env, "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH="+c.testdata, "ANSWERS="+c.answers())
	run(t, c.dir, env, append(argv, flags...)...)
}

// answers is the file that the hooks list operations in that succeeded, one a line.
func (c *schemaChecker) answers() string { return filepath.Join(c.dir, "answers") }

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
