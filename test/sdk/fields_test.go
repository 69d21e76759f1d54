package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// unsent has the fields of requests that an SDK need not send, and the reason.
func unsent() map[string]string {
	return map[string]string{
		"create-session body.snapshot_id":            "no version has snapshots yet",
		"create-session body.network.mode":           "its one value is the default",
		"write-stdin body.data":                      "data_base64 says the same",
		"execute body.async":                         "an execution that streams can be left",
		"get-result query.execution_id":              "get-execution has the result",
		"get-status query.execution_id":              "get-execution says the same",
		"list-session-events query.after":            "Last-Event-ID says the same",
		"watch-execution query.after":                "Last-Event-ID says the same",
		"get-file header.If-Range":                   "for caches of HTTP",
		"get-file header.If-None-Match":              "for caches of HTTP",
		"get-template header.If-None-Match":          "for caches of HTTP",
		"archive-files header.Idempotency-Key":       "it changes nothing, or is too large",
		"complete-in-context header.Idempotency-Key": "it changes nothing",
		"inspect-in-context header.Idempotency-Key":  "it changes nothing",
	}
}

// untold has the fields of answers that an SDK need not return, and the reason. A field has those in it.
func untold() map[string]string {
	return map[string]string{
		"execute.data_base64":                 "the SDKs return bytes, which data says too",
		"get-container-logs.data_base64":      "the SDKs return bytes, which data says too",
		"get-container-logs.logs.data_base64": "the SDKs return bytes, which data says too",
		"get-session-logs.data_base64":        "the SDKs return bytes, which data says too",
		"get-session-logs.logs.data_base64":   "the SDKs return bytes, which data says too",
		"watch-execution.data_base64":         "the SDKs return bytes, which data says too",
		"watch-execution.execution_id":        "its caller has the id",
		"cancel-execution":                    "the result of the execution says it",
		"get-execution.execution_id":          "the same as id",
		"get-status.execution_id":             "the same as id",
		"get-result.session_id":               "its caller has the id",
		"get-result.state":                    "get-status says it",
		"get-result.kind":                     "get-status says it",
		"get-result.language":                 "get-status says it",
		"get-result.created_at":               "get-status says it",
		"health":                              "that it answers says it",
		"create-template.nodes":               "they are of prepare-template",
		"create-template.seq":                 "progress is told in order",
		"create-template.type":                "progress is told by a function",
		"replace-template.nodes":              "they are of prepare-template",
		"replace-template.seq":                "progress is told in order",
		"replace-template.type":               "progress is told by a function",
		"prepare-template.seq":                "progress is told in order",
		"prepare-template.type":               "progress is told by a function",
		"prepare-template.template":           "its caller has the name",
		"push-templates":                      "its caller has the templates",
		"watch-files.seq":                     "a watch does not go on after it breaks",
	}
}

func TestPythonFields(t *testing.T) {
	t.Parallel()
	everyField(t, installed(t), filepath.Join(python(t), "tests", "options.py"))
}

func TestTypescriptFields(t *testing.T) {
	t.Parallel()
	everyField(t, node(t), filepath.Join(installedTypescript(t), "options.mjs"))
}

func TestGoFields(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "options")
	run(t, testutil.Root(t), "go", "build", "-tags", "seccomp", "-o", program, "./test/sdk/gooptions")
	everyField(t, program)
}

// everyField holds an SDK to each field of the document: the runner has to send those of requests, and to return those of answers.
func everyField(t *testing.T, runner ...string) {
	t.Helper()
	server := newPapers(t)
	cmd := exec.CommandContext(t.Context(), runner[0], runner[1:]...)
	cmd.Env = append(os.Environ(), "YURT_URL="+server.URL, "PYTHONDONTWRITEBYTECODE=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("the runner ended with %v:\n%s", err, stderr.String())
	}
	everySent(t, server)
	var told map[string]any
	if err := json.Unmarshal(stdout, &told); err != nil {
		t.Fatal(err)
	}
	everyTold(t, server, told)
}

// everySent wants the runner to have sent each field of each request.
func everySent(t *testing.T, server *papers) {
	t.Helper()
	excused := unsent()
	for _, methods := range server.document.object("paths") {
		for _, value := range methods.(map[string]any) {
			operation := schema(value.(map[string]any))
			name := operation.text("operationId")
			for _, field := range requestFields(server.document, operation) {
				place := name + " " + field
				if !server.sent[place] && excused[place] == "" {
					t.Errorf("no call sends %s; expected an option of the SDK for it, and a call with the option", place)
				}
				delete(excused, place)
			}
		}
	}
	for place := range excused {
		t.Errorf("the document has no %s, expected it since the test excuses the SDKs for it", place)
	}
}

// requestFields returns the fields of an operation's request: parameters but for pages, which the SDKs follow, and the members of its body.
func requestFields(document openAPI, operation schema) []string {
	var fields []string
	pages := false
	for _, parameter := range operation.list("parameters") {
		pages = pages || parameter.text("name") == "cursor"
	}
	for _, parameter := range operation.list("parameters") {
		name := parameter.text("name")
		turnsPages := pages && (name == "cursor" || name == "limit")
		if parameter.text("in") != "path" && !turnsPages {
			fields = append(fields, parameter.text("in")+"."+name)
		}
	}
	body := operation.object("requestBody").object("content").object("application/json").object("schema")
	if body.text("$ref") != "" { // templates are sent as they are written
		fields = append(fields, document.fields(body, "body")...)
	}
	return fields
}

// everyTold wants the runner to have returned each field of each answer.
func everyTold(t *testing.T, server *papers, told map[string]any) {
	t.Helper()
	names := map[string]map[string]bool{}
	texts := map[string]string{}
	for operation, values := range told {
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		texts[operation], names[operation] = string(text), map[string]bool{}
		collect(values, names[operation])
	}
	for _, place := range slices.Sorted(maps.Keys(server.fill.values)) {
		operation, path, _ := strings.Cut(place, ".")
		if excused(place) || returned(texts[operation], names[operation], path, server.fill.values[place]) {
			continue
		}
		t.Errorf("no call returns %s of %s", path, operation)
	}
}

// excused reports whether an SDK need not return a field.
func excused(place string) bool {
	for excuse := range untold() {
		if place == excuse || strings.HasPrefix(place, excuse+".") {
			return true
		}
	}
	return false
}

// returned reports whether the values of an operation, as text, have a value at a path. One that is not different from others is looked
// for by its name.
func returned(text string, names map[string]bool, path string, value any) bool {
	different := fmt.Sprint(value)
	if at, isTime := strings.CutSuffix(different, "Z"); isTime {
		return strings.Contains(text, at)
	}
	if _, number := value.(int); number || strings.Contains(different, "sent") {
		return strings.Contains(text, different)
	}
	return different == "" || names[plainName(path[strings.LastIndex(path, ".")+1:])] // the last page has no cursor
}

// plainName is a name as all languages write it.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// collect adds the names of members in a value.
func collect(value any, names map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			names[plainName(name)] = true
			collect(inner, names)
		}
	case []any:
		for _, inner := range value {
			collect(inner, names)
		}
	}
}
