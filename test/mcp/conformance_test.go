package mcp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/nodejs"
	"github.com/yurtrun/yurt/test/testutil"
)

// The suite in the version that was current with the older revision, and in the first that knows which
// scenarios each revision requires. It needs a newer Node than the one of the machine.
const (
	suiteBefore = "0.1.16"
	suiteNow    = "0.2.0-alpha.12"
	nodeVersion = "22.23.3"
)

// suite is one version of the conformance suite, installed.
type suite struct{ node, program string }

func installSuite(t *testing.T, version string) suite {
	t.Helper()
	dir := testutil.Cached(t, "mcp-conformance-"+version+"-node-"+nodeVersion, func(dir string) {
		npm(t, dir, "@modelcontextprotocol/conformance@"+version, "node@"+nodeVersion)
	})
	return suite{
		node:    filepath.Join(dir, "node_modules", ".bin", "node"),
		program: filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
	}
}

// npm installs packages into a directory. Scripts run, since the one of node only links the
// package that holds the binary.
func npm(t *testing.T, dir string, packages ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := nodejs.Run(t.Context(), dir, append([]string{"install", "--prefix", dir}, packages...)...); err != nil {
		t.Fatal(err)
	}
}

// run runs the suite against a server and returns its output and how many checks failed, by scenario.
func (s suite) run(t *testing.T, url string, args ...string) (said string, checks map[string]checks) {
	t.Helper()
	results := t.TempDir()
	cmd := exec.CommandContext(t.Context(), s.node, append([]string{s.program, "server", "--url", url, "--output-dir", results}, args...)...)
	cmd.Dir = results
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the suite says: %v\n%s", err, out)
	}
	return string(out), readChecks(t, results)
}

// checks counts the checks of a scenario.
type checks struct{ passed, failed int }

// readChecks reads the results of the scenarios, each in a directory of its own.
func readChecks(t *testing.T, results string) map[string]checks {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "server-*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]checks{}
	ending := regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T.*$`) // the time of the run
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ Status string }
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := ending.ReplaceAllString(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-"), "")
		count := all[name]
		for _, check := range list {
			switch check.Status {
			case "SUCCESS":
				count.passed++
			case "FAILURE":
				count.failed++
			}
		}
		all[name] = count
	}
	return all
}

// required returns the scenarios for servers that a revision requires.
func (s suite) required(t *testing.T, revision string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), s.node, s.program, "list", "--requirements", revision).CombinedOutput()
	if err != nil {
		t.Fatalf("listing the requirements: %v\n%s", err, out)
	}
	_, list, _ := strings.Cut(string(out), "Server scenarios")
	list, _, _ = strings.Cut(list, "Client scenarios")
	var names []string
	for line := range strings.Lines(list) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "- "); is {
			names = append(names, name)
		}
	}
	return names
}

func TestConformance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, version, revision string
		args                    []string
		required                int
	}{
		{"2025-11-25 by the suite before", suiteBefore, "2025-11-25", []string{"--suite", "active", "--spec-version", "2025-11-25"}, 30},
		{"2025-11-25", suiteNow, "2025-11-25", []string{"--requirements", "2025-11-25"}, 30},
		{"2026-07-28", suiteNow, "2026-07-28", []string{"--requirements", "2026-07-28"}, 37},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			required := installSuite(t, suiteNow).required(t, tt.revision)
			if len(required) != tt.required {
				t.Fatalf("the suite requires %d scenarios, expected %d: %q", len(required), tt.required, required)
			}
			said, found := installSuite(t, tt.version).run(t, serveFixture(t), tt.args...)
			for _, name := range required {
				if got := found[name]; got.passed == 0 || got.failed > 0 {
					t.Errorf("scenario %s: %d checks passed and %d failed, expected all to pass\n%s", name, got.passed, got.failed, said)
				}
			}
		})
	}
}
