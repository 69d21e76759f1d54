package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// papers is a server that knows the OpenAPI document alone. It answers each request with every field that the document has, which no
// sandbox does at once, and notes the fields of requests.
type papers struct {
	*httptest.Server
	t        testing.TB
	document openAPI

	mu   sync.Mutex
	fill filler
	sent map[string]bool // such as "create-session body.resources.cpu"
}

func newPapers(t testing.TB) *papers {
	t.Helper()
	p := &papers{t: t, document: readOpenAPI(t), sent: map[string]bool{}}
	p.fill = filler{document: p.document, values: map[string]any{}}
	routes := http.NewServeMux()
	for path, methods := range p.document.object("paths") {
		for method := range methods.(map[string]any) {
			operation := p.document.object("paths").object(path).object(method)
			pattern := strings.ToUpper(method) + " " + strings.Replace(path, "/files/{path}", "/files/{path...}", 1)
			routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, operation) })
		}
	}
	p.Server = httptest.NewServer(routes)
	t.Cleanup(p.Server.Close)
	return p
}

// serve notes a request and answers it.
func (p *papers) serve(w http.ResponseWriter, r *http.Request, operation schema) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := operation.text("operationId")
	p.sent[name] = true
	for _, parameter := range operation.list("parameters") {
		field := parameter.text("in") + "." + parameter.text("name")
		if field == "query.metadata" && strings.Contains(r.URL.RawQuery, "metadata%5B") || r.URL.Query().Has(parameter.text("name")) || r.Header.Get(parameter.text("name")) != "" {
			p.sent[name+" "+field] = true
		}
	}
	var body any
	if data, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(data, &body) == nil {
		p.note(name+" body", body)
	}
	asked, _ := body.(map[string]any)
	statuses := []string{"200", "201"}
	if asked["async"] == true {
		statuses = []string{"202"}
	}
	p.answer(w, r, name, operation.object("responses"), statuses)
}

// note notes the fields of a body.
func (p *papers) note(place string, value any) {
	p.sent[place] = true
	if object, ok := value.(map[string]any); ok {
		for name, inner := range object {
			p.note(place+"."+name, inner)
		}
	}
}

// answer sends the first answer of success in the form that the request accepts.
func (p *papers) answer(w http.ResponseWriter, r *http.Request, name string, answers schema, statuses []string) {
	streams := strings.Contains(r.Header.Get("Accept"), "event-stream")
	w.Header().Set("Location", "/api/v1/sessions/ses_a/executions/exe_a")
	for _, status := range statuses {
		content := answers.object(status).object("content")
		if events := content.object("text/event-stream"); streams && events != nil {
			w.Header().Set("Content-Type", "text/event-stream")
			p.stream(w, name, events.object("schema").object("properties").object("data").object("contentSchema"))
			return
		}
		if whole := content.object("application/json"); whole != nil {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(p.fill.fill(whole.object("schema"), name)) //nolint:errchkjson // a runner that left has failed already
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

// stream sends an event of each type; the last one ends the stream.
func (p *papers) stream(w io.Writer, name string, event schema) {
	event = p.document.resolved(event)
	kinds, _ := event.object("properties").object("type")["enum"].([]any)
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind any) bool { return kind == "failed" || kind == "prepared" && name != "prepare-template" })
	if len(kinds) == 0 {
		kinds = []any{""}
	}
	for n, kind := range kinds {
		value := p.fill.fill(event, name).(map[string]any)
		for member, set := range map[string]any{"seq": n + 1, "type": kind, "to": "terminated"} {
			if _, has := value[member]; has {
				value[member] = set
				p.fill.values[name+"."+member] = true // it is looked for by its name
			}
		}
		text, err := json.Marshal(value)
		if err != nil {
			p.t.Error(err)
		}
		fmt.Fprintf(w, "id: %d\nevent: %v\ndata: %s\n\n", n+1, kind, text)
	}
}
