package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/controller/httpapi"
)

// TestLargeOutput: output that is kept apart from its result is in every answer that has the result.
func TestLargeOutput(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) { c.Heartbeat = time.Millisecond })
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	want := strings.Repeat("é\"\\<\x01", 9_000) + "\n"
	body, err := json.Marshal(map[string]any{"command": []string{"x", "echo " + strings.TrimSpace(want) + " warn small"}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(where string, answer []byte) {
		t.Helper()
		type streams struct{ Stdout, Stderr string }
		var got struct {
			streams

			Nested json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if got.Stdout == "" {
			if err := json.Unmarshal(got.Nested, &got.streams); err != nil {
				t.Fatalf("%s: %v in %.200s", where, err, answer)
			}
		}
		if got.Stdout != want || got.Stderr != "small\n" {
			t.Errorf("%s has %d bytes of stdout and %q of stderr, want %d and %q", where, len(got.Stdout), got.Stderr, len(want), "small\n")
		}
	}
	a := s.do(t, http.MethodPost, path+"/execute", string(body))
	check("the answer of execute", []byte(a.body))
	execution := a.header.Get("Location")
	for _, get := range []string{path + "/result", path + "/status", strings.TrimPrefix(execution, s.URL)} {
		check(get, []byte(s.do(t, http.MethodGet, get, "").body))
	}
	stream := s.openStream(t, http.MethodGet, execution+"/events", "")
	for {
		e, ok := stream.next()
		if !ok {
			t.Fatal("the stream ended before the last event")
		}
		if e.event == "ended" {
			check("the last event", e.data.Result)
			break
		}
	}
	conn, ctx := s.dialPath(t, execution+"/events?after=3")
	conn.SetReadLimit(-1)
	_, message, err := conn.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	check("the last message", message)
}

// TestResultsGoWithTheirSession: results outlive their session, unless its end asks for them to be deleted.
func TestResultsGoWithTheirSession(t *testing.T) {
	s := newServer(t)
	for _, test := range []struct {
		query string
		want  int // status of the result afterwards
	}{{"", http.StatusOK}, {"?results=keep", http.StatusOK}, {"?results=delete", http.StatusNotFound}} {
		path := "/api/v1/sessions/" + s.session(t, "python-basic")
		s.do(t, http.MethodPost, path+"/execute", `{"command": "echo one"}`)
		s.do(t, http.MethodPost, path+"/execute", `{"command": "block", "async": true}`)
		if a := s.do(t, http.MethodDelete, path+test.query, ""); a.status != http.StatusOK {
			t.Fatalf("DELETE with %q: %d %s", test.query, a.status, a.body)
		}
		if a := s.do(t, http.MethodGet, path+"/result", ""); a.status != test.want && a.status != http.StatusConflict {
			t.Errorf("after DELETE with %q the result is %d %s, want %d", test.query, a.status, a.body, test.want)
		}
		if a := s.do(t, http.MethodDelete, path+"?results=delete", ""); a.status != http.StatusOK {
			t.Errorf("deleting the results of a session that has ended: %d %s", a.status, a.body)
		}
		if a := s.do(t, http.MethodGet, path+"/result", ""); a.status != http.StatusNotFound {
			t.Errorf("after that the result is %d %s", a.status, a.body)
		}
	}
	if a := s.do(t, http.MethodDelete, "/api/v1/sessions/"+s.session(t, "python-basic")+"?results=never", ""); a.status != http.StatusBadRequest {
		t.Errorf("results=never is %d %s", a.status, a.body)
	}
}
