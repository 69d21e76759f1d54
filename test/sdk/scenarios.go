package sdk

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// Scenarios starts a runner against a server of its own, and reports each scenario as a test.
// With long those that take long are run, and no others.
func Scenarios(t *testing.T, long bool, command ...string) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	NewFaults(t, testutil.BuildYurt(t, "yurt-sdk", "sdk")).scenarios(t, long, command...)
}

// ClusterScenarios runs all scenarios against a controller of a cluster.
func ClusterScenarios(t *testing.T, command ...string) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	faults := NewClusterFaults(t)
	faults.scenarios(t, false, command...)
	faults.scenarios(t, true, command...)
}

func (f *Faults) scenarios(t *testing.T, long bool, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "YURT_URL="+f.URL, "YURT_CONTROL="+f.Control,
		"YURT_SCENARIOS="+filepath.Join(testutil.Root(t), "test", "sdk", "scenarios.json"))
	if long {
		cmd.Env = append(cmd.Env, "YURT_LONG=1")
	}
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
	for _, name := range names(t, long) {
		if !told[name] {
			t.Errorf("the runner says nothing of the scenario %q", name)
		}
	}
}

// names returns the names of the scenarios that take long, or of the others.
func names(t *testing.T, long bool) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testutil.Root(t), "test", "sdk", "scenarios.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Scenarios []struct {
			Name string `json:"name"`
			Long bool   `json:"long"`
		} `json:"scenarios"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, scenario := range file.Scenarios {
		if scenario.Long == long {
			list = append(list, scenario.Name)
		}
	}
	return list
}
