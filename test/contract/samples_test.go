package contract_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/contract"
	"github.com/yurtrun/yurt/test/testutil"
)

// described is the part of a document that a reader copies requests from.
type described struct {
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct {
			Name, In string
			Required bool
			Example  any
		}
		RequestBody struct {
			Content map[string]struct {
				Example  any
				Examples map[string]struct{ Value any }
			}
		} `json:"requestBody"`
	}
}

// copier sends the requests of a document as a reader of the documentation would: with the samples
// as they stand, and existing names in paths.
type copier struct {
	t      *testing.T
	server string
	client *http.Client
	shared string // the session that all operations are tried in but those that end one
	// builtIn are the names of the templates that the server began with.
	builtIn []string
}

// TestSamples sends every sample of the document to a real server.
func TestSamples(t *testing.T) {
	testutil.NeedsSandboxes(t)
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt", "test"))
	c := &copier{t: t, client: &http.Client{Transport: checkedTransport(t, url)}}
	var document described
	c.server = url
	c.decode(c.send("GET", "/openapi.json", "", nil), &document)
	if len(document.Servers) != 1 || document.Servers[0].URL != url {
		t.Fatalf("the servers are %+v, want the one that was asked, %s", document.Servers, url)
	}
	c.shared = c.newSession()
	c.builtIn = c.templates()
	for path, verbs := range document.Paths {
		for verb, op := range verbs {
			if op.OperationID == "open-terminal" { // by WebSocket alone
				continue
			}
			for kind, media := range op.RequestBody.Content {
				samples := map[string]any{"": media.Example}
				if media.Example == nil {
					delete(samples, "")
				}
				for name, example := range media.Examples {
					samples[name] = example.Value
				}
				if len(samples) == 0 && kind != "application/x-tar" {
					t.Errorf("%s has no sample of a body in %s", op.OperationID, kind)
				}
				for name, value := range samples {
					t.Run(op.OperationID+" "+name, func(t *testing.T) { c.with(t).try(op.OperationID, verb, path, kind, value) })
				}
			}
			if len(op.RequestBody.Content) == 0 {
				t.Run(op.OperationID, func(t *testing.T) { c.with(t).try(op.OperationID, verb, path, "", nil) })
			}
		}
	}
}

func checkedTransport(t *testing.T, url string) http.RoundTripper {
	t.Helper()
	document, err := contract.Fetch(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return document.Transport(connections, func(err error) { t.Error(err) })
}

func (c *copier) with(t *testing.T) *copier {
	return &copier{t, c.server, c.client, c.shared, c.builtIn}
}

// try sends a sample, which has to succeed. The templates that it makes are gone afterwards, so
// that samples may use the same names.
func (c *copier) try(operation, verb, path, kind string, value any) {
	c.t.Helper()
	body := c.body(value)
	defer c.removeTemplates()
	if strings.HasPrefix(path, "/api/v1/templates/{id}") {
		path = strings.Replace(path, "{id}", c.template(operation, kind, body), 1)
	}
	path = c.fill(operation, path)
	answer := c.send(strings.ToUpper(verb), path, kind, body)
	if strings.HasSuffix(path, "/drain") || strings.HasSuffix(path, "/pause") { // the other samples need it
		undo := map[string][]string{"drain": {"DELETE", path}, "pause": {"POST", strings.TrimSuffix(path, "pause") + "resume"}}
		call := undo[path[strings.LastIndex(path, "/")+1:]]
		defer c.send(call[0], call[1], "", nil)
	}
	var result struct{ Error any }
	if json.Unmarshal(answer, &result) == nil && result.Error != nil {
		c.t.Errorf("the execution failed: %s", answer)
	}
}

func (c *copier) body(value any) []byte {
	c.t.Helper()
	switch text := value.(type) {
	case nil:
		return nil
	case string:
		return []byte(text)
	}
	text, err := json.Marshal(value)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// template returns the name of a template for an operation on one, which is made first where the
// operation changes it.
func (c *copier) template(operation, kind string, body []byte) string {
	c.t.Helper()
	switch operation {
	case "replace-template":
	case "delete-template":
		kind, body = "application/json", []byte(`{"name": "passing", "runtimes": ["python"]}`)
	default:
		return "python-basic"
	}
	c.send("POST", "/api/v1/templates", kind, body)
	made := slices.DeleteFunc(c.templates(), func(name string) bool { return slices.Contains(c.builtIn, name) })
	if len(made) != 1 {
		c.t.Fatalf("templates %q were made, want one", made)
	}
	return made[0]
}

// templates lists the names of the server's templates.
func (c *copier) templates() []string {
	c.t.Helper()
	var list struct{ Templates []struct{ Name string } }
	c.decode(c.send("GET", "/api/v1/templates", "", nil), &list)
	var names []string
	for _, template := range list.Templates {
		names = append(names, template.Name)
	}
	return names
}

func (c *copier) removeTemplates() {
	c.t.Helper()
	for _, name := range c.templates() {
		if !slices.Contains(c.builtIn, name) {
			c.send("DELETE", "/api/v1/templates/"+name, "", nil)
		}
	}
}

// send makes a request that has to succeed, and returns the answer's body.
func (c *copier) send(method, path, kind string, body []byte) []byte {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.server+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && !strings.HasSuffix(path, "/events") {
		return nil // without an end while the session lives
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		c.t.Fatalf("%s %s: %s, error %v: %s\nwith %s", method, path, resp.Status, err, text, body)
	}
	return text
}

func (c *copier) decode(text []byte, into any) {
	c.t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
}

// fill makes the resources that an operation needs, and puts their names into the path.
func (c *copier) fill(operation, path string) string {
	c.t.Helper()
	names := []string{"{node}", c.node(), "{template}", "python-basic", "{tenant}", "acme"}
	switch {
	case strings.HasPrefix(path, "/api/v1/sessions/{id}"):
		names = append(names, c.session(operation)...)
	case strings.HasPrefix(path, "/api/v1/containers/"):
		var session struct {
			Sandbox string `json:"sandbox_id"`
		}
		c.decode(c.send("GET", "/api/v1/sessions/"+c.shared, "", nil), &session)
		names = append(names, "{id}", session.Sandbox)
	case path == "/api/v1/keys/{id}":
		var made struct{ ID string }
		c.decode(c.send("POST", "/api/v1/keys", "application/json", []byte(`{"scopes": ["files"]}`)), &made)
		names = append(names, "{id}", made.ID)
	default:
		names = append(names, "{id}", "python-basic")
	}
	return strings.NewReplacer(names...).Replace(path)
}

func (c *copier) node() string {
	var list struct{ Nodes []struct{ Name string } }
	c.decode(c.send("GET", "/api/v1/nodes", "", nil), &list)
	if len(list.Nodes) == 0 {
		return "" // a server that is one with its node lists no nodes
	}
	return list.Nodes[0].Name
}

func (c *copier) newSession() string {
	var made struct{ ID string }
	c.decode(c.send("POST", "/api/v1/sessions", "application/json", []byte(`{"template_id": "python-basic", "mode": "persistent"}`)), &made)
	return made.ID
}

// session makes a session for an operation on one, and returns the names of its parts.
func (c *copier) session(operation string) []string {
	c.t.Helper()
	id := c.shared
	if operation == "end-session" {
		id = c.newSession()
	}
	base := "/api/v1/sessions/" + id
	execute := func(body string) string {
		var made struct {
			ID string `json:"execution_id"`
		}
		c.decode(c.send("POST", base+"/execute", "application/json", []byte(body)), &made)
		return made.ID
	}
	running := []string{"write-stdin", "signal-execution", "resize-execution", "cancel-execution", "signal-process", "kill-process"}
	var execution string
	if slices.Contains(running, operation) {
		execution = execute(`{"command": ["sleep", "1000"], "tty": {}, "async": true}`)
	} else {
		execution = execute(`{"code": "a = 1", "language": "python"}`)
	}
	pid := "0"
	if strings.HasSuffix(operation, "-process") {
		var list struct {
			Processes []struct{ PID json.Number }
		}
		c.decode(c.send("GET", base+"/processes", "", nil), &list)
		pid = list.Processes[len(list.Processes)-1].PID.String()
	}
	c.send("PUT", base+"/files/data/input.csv", "application/octet-stream", []byte("1,2\n"))
	if operation == "resume-session" {
		c.send("POST", base+"/pause", "", nil)
	}
	return []string{"{id}", id, "{execution_id}", execution, "{name}", "default", "{path}", "data/input.csv", "{pid}", pid}
}

// TestRootLeadsToTheDocumentation follows the address that a server prints.
func TestRootLeadsToTheDocumentation(t *testing.T) {
	testutil.NeedsSandboxes(t)
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt", "test"))
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Request.URL.Path != "/docs" {
		t.Errorf("%s leads to %s, %s; want /docs", url, resp.Request.URL, resp.Status)
	}
}
