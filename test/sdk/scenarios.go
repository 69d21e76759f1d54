package sdk

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/devserver"
	"github.com/yurtrun/yurt/test/testutil"
)

// kind is a kind of scenarios, and the member of a scenario that says so.
type kind string

// The kinds of scenarios.
const (
	short kind = ""
	long  kind = "long" // that take long
	keys  kind = "keys" // that need a server that asks for keys
)

// Scenarios starts a runner against a server of its own, and reports each scenario of a kind as a test. It returns the runner's calls.
func Scenarios(t *testing.T, only kind, command ...string) *Calls {
	t.Helper()
	testutil.NeedsSandboxes(t)
	faults := NewFaults(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	play(t, only, []string{"YURT_SERVER=" + faults.URL, "YURT_CONTROL=" + faults.Control}, command...)
	return &faults.Calls
}

// KeyScenarios runs the scenarios about keys against a server that asks for them. The runner has the key of an operator.
func KeyScenarios(t *testing.T, command ...string) *Calls {
	t.Helper()
	server := keyedServer(t)
	faults := newFaults(t, func() (*devserver.Server, error) { return server.server, nil })
	faults.serve()
	play(t, keys, []string{"YURT_SERVER=" + faults.URL, "YURT_CONTROL=" + faults.Control, "YURT_API_KEY=" + server.admin}, command...)
	return &faults.Calls
}

// ClusterScenarios runs all scenarios against a controller of a cluster.
func ClusterScenarios(t *testing.T, command ...string) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	faults := NewClusterFaults(t)
	for _, only := range []kind{short, long} {
		play(t, only, []string{"YURT_SERVER=" + faults.URL, "YURT_CONTROL=" + faults.Control}, command...)
	}
}

// play runs the scenarios of a kind.
func play(t *testing.T, only kind, env []string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), env...), "YURT_ONLY="+string(only), "PYTHONDONTWRITEBYTECODE=1",
		"YURT_SCENARIOS="+filepath.Join(testutil.Root(t), "test", "sdk", "scenarios.json"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Errorf("the runner ended with %v, expected it to run all scenarios:\n%s", err, stderr.String())
	}
	told := make(map[string]bool)
	for lines := bufio.NewScanner(strings.NewReader(string(stdout))); lines.Scan(); {
		var line struct {
			Scenario string `json:"scenario"`
			OK       bool   `json:"ok"`
			Problem  string `json:"problem"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("the runner printed %q, expected a line of JSON for each scenario", lines.Text())
			continue
		}
		told[line.Scenario] = true
		t.Run(line.Scenario, func(t *testing.T) {
			if !line.OK {
				t.Error(line.Problem)
			}
		})
	}
	for _, name := range names(t, only) {
		if !told[name] {
			t.Errorf("the runner says nothing of the scenario %q", name)
		}
	}
}

// names returns the names of the scenarios of a kind.
func names(t *testing.T, only kind) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testutil.Root(t), "test", "sdk", "scenarios.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Scenarios []struct {
			Name string `json:"name"`
			Long bool   `json:"long"`
			Keys bool   `json:"keys"`
		} `json:"scenarios"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, scenario := range file.Scenarios {
		if scenario.Long == (only == long) && scenario.Keys == (only == keys) {
			list = append(list, scenario.Name)
		}
	}
	return list
}
