package contract

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// sample is a document with an operation of each kind.
const sample = `{"openapi": "3.1.0", "paths": {
	"/things/{id}": {
		"get": {"responses": {
			"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
			"default": {"content": {"application/problem+json": {"schema": {"type": "object", "required": ["code"]}}}}
		}},
		"delete": {"responses": {"204": {}}}
	},
	"/things/new": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"type": "string"}}}}}}},
	"/things/{id}/files/{path}": {"get": {"responses": {"200": {"content": {"application/octet-stream": {"schema": {}}}}}}},
	"/events": {"get": {"responses": {"200": {"content": {"text/event-stream": {"schema": {
		"type": "object", "required": ["data"], "properties": {"data": {
			"type": "string", "contentMediaType": "application/json", "contentSchema": {"$ref": "#/components/schemas/Thing"}
		}}
	}}}}}}}
}, "components": {"schemas": {"Thing": {
	"type": "object", "required": ["at"], "additionalProperties": false,
	"properties": {"at": {"type": "string", "format": "date-time"}, "data": {"type": "string", "contentEncoding": "base64"}}
}}}}`

// TestTransport sends answers through a transport, some of which the document does not allow.
func TestTransport(t *testing.T) {
	const good = `{"at": "2026-01-02T03:04:05Z", "data": "AAEC"}`
	tests := []struct {
		name, method, path string
		status             int
		kind, body         string
		wrong              string // part of what is reported; "" for nothing
	}{
		{"as documented", "GET", "/things/1", 200, "application/json", good, ""},
		{"with parameters", "GET", "/things/1", 200, "application/json; charset=utf-8", good, ""},
		{"null", "GET", "/things/1", 200, "application/json", `{"at": null}`, "got null, want string"},
		{"missing", "GET", "/things/1", 200, "application/json", `{}`, "missing property 'at'"},
		{"not documented", "GET", "/things/1", 200, "application/json", `{"at": "2026-01-02T03:04:05Z", "more": 1}`, "'more' not allowed"},
		{"no time", "GET", "/things/1", 200, "application/json", `{"at": "yesterday"}`, "not valid date-time"},
		{"no base64", "GET", "/things/1", 200, "application/json", `{"at": "2026-01-02T03:04:05Z", "data": "%"}`, "base64"},
		{"no JSON", "GET", "/things/1", 200, "application/json", `{"at"`, "unexpected EOF"},
		{"another status", "GET", "/things/1", 202, "application/json", good, "no status 202"},
		{"another type", "GET", "/things/1", 200, "text/plain", "x", `no content type "text/plain"`},
		{"a problem", "GET", "/things/1", 404, "application/problem+json", `{"code": "x"}`, ""},
		{"a problem without a code", "GET", "/things/1", 404, "application/problem+json", `{}`, "missing property 'code'"},
		{"a status without a default", "DELETE", "/things/1", 404, "application/problem+json", `{}`, "no status 404"},
		{"a body where there is none", "DELETE", "/things/1", 204, "application/json", `{}`, "no body"},
		{"the path without parameters", "GET", "/things/new", 200, "application/json", `"x"`, ""},
		{"a path with slashes", "GET", "/things/1/files/a/b", 200, "application/octet-stream", "x", ""},
		{"no such operation", "POST", "/things/1", 200, "application/json", good, "no such operation"},
		{"no such operation, refused", "POST", "/things/1", 405, "application/problem+json", `{}`, ""},
		{"events", "GET", "/events", 200, "text/event-stream", "id: 1\ndata: " + good + "\n\n: pause\n\n", ""},
		{"a wrong event", "GET", "/events", 200, "text/event-stream", "data: " + good + "\n\ndata: {}\n\n", "missing property 'at'"},
	}
	document, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var reports []string
			transport := document.Transport(canned{test.status, test.kind, test.body}, func(err error) { reports = append(reports, err.Error()) })
			req, err := http.NewRequestWithContext(t.Context(), test.method, "http://server"+test.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); err != nil || string(text) != test.body {
				t.Errorf("the reader got %q, error %v", text, err)
			}
			all := strings.Join(reports, "\n")
			if (all == "") != (test.wrong == "") || !strings.Contains(all, test.wrong) {
				t.Errorf("reported is %q, want %q", all, test.wrong)
			}
		})
	}
}

// canned answers every request alike.
type canned struct {
	status     int
	kind, body string
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body))}, nil
}
