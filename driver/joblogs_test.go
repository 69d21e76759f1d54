package driver

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/drivertest"
	"github.com/yurtrun/yurt/driver/internal/pluginconfig"
)

// TestJobLogs has the logs of a task bounded by what Nomad says of its job, and by the default,
// with an event, where Nomad does not answer. Another test asks a real Nomad.
func TestJobLogs(t *testing.T) {
	task := drivertest.Task(t, `{"command":"a"}`)
	task.Namespace = "team a"
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answers := `{"TaskGroup":"g","Job":{"TaskGroups":[{"Name":"other","Tasks":[{"Name":"web","LogConfig":{"MaxFiles":9,"MaxFileSizeMB":9}}]},` +
		`{"Name":"g","Tasks":[{"Name":"web","LogConfig":{"MaxFiles":3,"MaxFileSizeMB":2}}]}]}}`
	var status int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/allocation/"+task.GetAllocId() || r.URL.Query().Get("namespace") != "team a" || r.Header.Get("X-Nomad-Token") != "secret" {
			t.Errorf("it asks for %s with %v", r.URL, r.Header)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answers))
	}))
	defer server.Close()
	away := httptest.NewServer(nil)
	away.Close()
	for _, test := range []struct {
		name, config, address string
		status                int
		files                 int
		size                  yurt.Size
		says                  string
	}{
		{"the job's", `{"command":"a"}`, server.URL, http.StatusOK, 3, 2 << 20, ""},
		{"the task's own", `{"command":"a","logs":{"max_files":4}}`, server.URL, http.StatusOK, 4, yurt.Size(10 << 20), ""},
		{"not allowed to ask", `{"command":"a"}`, server.URL, http.StatusForbidden, 10, yurt.Size(10 << 20), "403 Forbidden"},
		{"Nomad is away", `{"command":"a"}`, away.URL, 0, 10, yurt.Size(10 << 20), "connection refused"},
		{"not to ask", `{"command":"a"}`, "", 0, 10, yurt.Size(10 << 20), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			status = test.status
			d := testDriver(pluginconfig.Config{NomadAddress: test.address, NomadTokenFile: token})
			said, stop := d.events.watch()
			defer stop()
			task.MsgpackDriverConfig = drivertest.Packed(t, test.config)
			p, err := d.translate(task)
			if err != nil {
				t.Fatal(err)
			}
			d.limitLogs(t.Context(), task, &p)
			if logs := p.Execution.Logs; logs.MaxFiles != test.files || logs.MaxSize != test.size {
				t.Errorf("kept are %d files of %s", logs.MaxFiles, logs.MaxSize)
			}
			message := ""
			if len(said) > 0 {
				message = (<-said).GetMessage()
			}
			if (test.says == "") != (message == "") || !strings.Contains(message, test.says) {
				t.Errorf("the event is %q, want one with %q", message, test.says)
			}
		})
	}
}
