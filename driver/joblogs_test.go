package driver

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestJobLogs has the logs of a task bounded by what Nomad says of its job, and by the default,
// with an event, where Nomad does not answer. Another test asks a real Nomad.
func TestJobLogs(t *testing.T) {
	task := taskOf(t, `{"command":"a"}`)
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
		{"the task's own", `{"command":"a","logs":{"max_files":4}}`, server.URL, http.StatusOK, 4, defaultLogSize, ""},
		{"not allowed to ask", `{"command":"a"}`, server.URL, http.StatusForbidden, defaultLogFiles, defaultLogSize, "403 Forbidden"},
		{"Nomad is away", `{"command":"a"}`, away.URL, 0, defaultLogFiles, defaultLogSize, "connection refused"},
		{"not to ask", `{"command":"a"}`, "", 0, defaultLogFiles, defaultLogSize, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			status = test.status
			d := testDriver(Config{NomadAddress: test.address, NomadTokenFile: token})
			said, stop := d.events.watch()
			defer stop()
			task.MsgpackDriverConfig = packed(t, test.config)
			p, err := d.plan(task)
			if err != nil {
				t.Fatal(err)
			}
			d.limitLogs(t.Context(), task, &p)
			if logs := p.execution.Logs; logs.MaxFiles != test.files || logs.MaxSize != test.size {
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
	for _, config := range []string{`{"nomad_address":"127.0.0.1:4646"}`, `{"nomad_token_file":"/etc/x"}`, `{"nomad_address":"ftp://x"}`} {
		if _, err := readConfig(packed(t, config)); !isField(err, "nomad_address") {
			t.Errorf("%s gives %v", config, err)
		}
	}
}
