package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func all(t *testing.T) []Metric {
	t.Helper()
	found, err := Find(root, "controller", "executor", "cmd")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestNames: names and units follow Prometheus's rules, and no label can take any number of values.
func TestNames(t *testing.T) {
	found := all(t)
	if len(found) < 40 {
		t.Fatalf("the source declares %d metrics, want 40 or more: %v", len(found), found)
	}
	unit := regexp.MustCompile(`_(seconds|bytes)$`)
	for i, m := range found {
		if i > 0 && found[i-1].Name == m.Name {
			t.Errorf("%s is declared in %s and otherwise in %s", m.Name, found[i-1].File, m.File)
		}
		if !regexp.MustCompile(`^yurt_[a-z][a-z_]*[a-z]$`).MatchString(m.Name) {
			t.Errorf("%s: a name has small letters and underscores", m.Name)
		}
		if total := strings.HasSuffix(m.Name, "_total"); total != (m.Kind == "counter") {
			t.Errorf("%s is a %s: counters and no others end in _total", m.Name, m.Kind)
		}
		if m.Kind == "histogram" && !unit.MatchString(m.Name) {
			t.Errorf("%s: a histogram ends in its unit", m.Name)
		}
		if regexp.MustCompile(`_(ms|millis|milliseconds|minutes|kb|mib|percent)(_|$)`).MatchString(m.Name) {
			t.Errorf("%s: units are seconds, bytes and ratios", m.Name)
		}
		if !strings.HasSuffix(m.Help, ".") {
			t.Errorf("%s has the help %q, want a sentence", m.Name, m.Help)
		}
		for _, label := range m.Labels {
			if slices.Contains([]string{"session", "session_id", "sandbox", "execution", "key", "id", "path", "address", "error"}, label) {
				t.Errorf("%s has the label %s, which has as many values as there are requests", m.Name, label)
			}
		}
	}
}

// TestReference: docs/METRICS.md is made from the source. YURT_UPDATE=1 writes it.
func TestReference(t *testing.T) {
	const page = root + "/docs/METRICS.md"
	want := reference(all(t))
	if os.Getenv("YURT_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil { //nolint:gosec // it is documentation
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Errorf("docs/METRICS.md is not that of the source (%v); write it with: YURT_UPDATE=1 go test -tags seccomp -run TestReference ./test/metrics", err)
	}
}

func reference(found []Metric) string {
	var b strings.Builder
	b.WriteString(`# Metrics

Prometheus reads the metrics of ` + "`yurt dev`" + ` and ` + "`yurt controller`" + ` at ` + "`/metrics`" + `, with a key of the scope ` + "`nodes`" + ` if the server requires keys, and those of
` + "`yurt executor`" + ` at the address of ` + "`--metrics-listen`" + `. The metrics of the Go runtime and of the process (` + "`go_…`" + `, ` + "`process_…`" + `) are included. Only
` + "`yurt_tenant_sessions`" + `, which only the operator's keys can read, names tenants. The other labels that grow with use are names of templates and routes;
clients cannot invent labels.

Dashboards for Grafana are in ` + "`deploy/grafana`" + `, and alerts with their tests in ` + "`deploy/prometheus`" + `. This page is made from the source.

| metric | kind | labels | meaning |
| --- | --- | --- | --- |
`)
	for _, m := range found {
		labels := "–"
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, labels, strings.ReplaceAll(m.Help, "|", "\\|"))
	}
	return b.String()
}

// TestDashboardsAskForMetricsThatExist: each name in a dashboard and in an alert is a metric of the source.
func TestDashboardsAskForMetricsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, m := range all(t) {
		known[m.Name] = true
		if m.Kind == "histogram" {
			known[m.Name+"_bucket"], known[m.Name+"_sum"], known[m.Name+"_count"] = true, true, true
		}
	}
	var files []string
	for _, pattern := range []string{"grafana/*.json", "prometheus/*.yml"} {
		matches, err := filepath.Glob(filepath.Join(root, "deploy", pattern))
		if err != nil || len(matches) == 0 {
			t.Fatalf("there are no files deploy/%s: %v", pattern, err)
		}
		files = append(files, matches...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\byurt_[a-z_]+\b`).FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric", file)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s asks for %s, which does not exist", file, name)
			}
		}
	}
}
