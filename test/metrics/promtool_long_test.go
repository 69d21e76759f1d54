//go:build long

package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// promtool runs Prometheus's own tool, which scripts/engines builds, and returns its output.
func promtool(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	built := exec.CommandContext(t.Context(), filepath.Join(root, "scripts/engines"), "promtool")
	built.Stderr = os.Stderr
	path, err := built.Output()
	if err != nil {
		t.Fatalf("building promtool: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestAlerts: Prometheus takes the alerts, and each fires when it is to.
func TestAlerts(t *testing.T) {
	alerts, tests := filepath.Join(root, "deploy/prometheus/alerts.yml"), filepath.Join(root, "deploy/prometheus/alerts_test.yml")
	promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", alerts)
	promtool(t, "", "test", "rules", tests)
	text, err := os.ReadFile(alerts)
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile(tests)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)- alert: (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(string(tested), "alertname: "+match[1]) {
			t.Errorf("the alert %s has no test", match[1])
		}
	}
}

// TestConfiguration: Prometheus takes the configuration that the documents have.
func TestConfiguration(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/MONITORING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```yaml\n")
	block, _, closed := strings.Cut(after, "```\n")
	if !found || !closed || !strings.Contains(block, "rule_files") {
		t.Fatalf("docs/MONITORING.md has no configuration with rule_files in YAML: %q", block)
	}
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "config", "--syntax-only", file)
}

// TestDashboards: Prometheus takes each question of the dashboards.
func TestDashboards(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "deploy/grafana/*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("the dashboards are %v, %v, want three", files, err)
	}
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboards\n    rules:\n")
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			UID    string
			Panels []struct {
				Title, Description string
				Targets            []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil || board.UID == "" {
			t.Fatalf("%s: %v", file, err)
		}
		for _, panel := range board.Panels {
			if panel.Title == "" || panel.Description == "" || len(panel.Targets) == 0 {
				t.Errorf("%s: the panel %q has no title, description or question", file, panel.Title)
			}
			for _, target := range panel.Targets {
				count++
				expr, err := json.Marshal(strings.NewReplacer("$__rate_interval", "5m", "$tenant", ".*", "$placement", ".*").Replace(target.Expr))
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&rules, "      - record: question:%d\n        expr: %s\n", count, expr)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := promtool(t, "", "check", "rules", "--lint=none", file); !strings.Contains(out, fmt.Sprintf("%d rules found", count)) {
		t.Errorf("promtool finds %s, want %d rules", out, count)
	}
}

// TestScrape: Prometheus takes the metrics of a server with a session and an execution, and each of them is one of the source.
func TestScrape(t *testing.T) {
	if testing.Short() {
		t.Skip("makes sandboxes")
	}
	url, client := testutil.Serve(t, testutil.BuildYurt(t, "yurt", "test"))
	session, err := client.CreateSession(t.Context(), yurtclient.CreateSessionRequest{TemplateID: "shell-basic"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Execute(t.Context(), session.ID, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "true"}}); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, url+"/metrics")
	promtool(t, text, "check", "metrics")
	known := map[string]string{}
	for _, m := range all(t) {
		known[m.Name] = m.Kind
	}
	seen := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (yurt_\w+) (\w+)$`).FindAllStringSubmatch(text, -1) {
		if seen[match[1]] = true; known[match[1]] != match[2] {
			t.Errorf("%s is a %s, and the source says %q", match[1], match[2], known[match[1]])
		}
	}
	for _, want := range []string{
		`yurt_tenant_sessions{state="ready",tenant="default"} 1`, `yurt_node_sandboxes 1`, `yurt_node_cache_bytes{cache="images"} 0`,
		`yurt_executions_total{kind="command",outcome="succeeded"} 1`, `yurt_session_create_duration_seconds_count{placement="cold"} 1`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	for name, least := range map[string]float64{
		"yurt_node_sandbox_memory_bytes": 1e4, "yurt_node_sandbox_cpu_seconds_total": 1e-4, "yurt_node_disk_free_bytes": 1e6,
		"yurt_node_sandbox_processes": 1, "yurt_store_write_duration_seconds_count": 3,
	} {
		value := 0.0
		if match := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text); match != nil {
			_, _ = fmt.Sscan(match[1], &value)
		}
		if value < least {
			t.Errorf("%s is %v, want %v or more", name, value, least)
		}
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the answer is %s, %v", resp.Status, err)
	}
	return string(text)
}
