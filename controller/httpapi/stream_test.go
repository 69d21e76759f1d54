package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/httpapi"
)

// sseEvent is an event as it was on the stream.
type sseEvent struct {
	id, event string
	data      struct {
		Seq         uint64          `json:"seq"`
		Type        string          `json:"type"`
		At          time.Time       `json:"at"`
		ExecutionID string          `json:"execution_id"`
		Data        *string         `json:"data"`
		DataBase64  []byte          `json:"data_base64"`
		Gap         *yurt.Gap       `json:"gap"`
		Result      json.RawMessage `json:"result"`

		To     yurt.SessionState `json:"to"` // of a change of a session
		Reason string            `json:"reason"`
	}
}

// stream is an open event stream.
type stream struct {
	t      *testing.T
	resp   *http.Response
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func (s *server) openStream(t *testing.T, method, path, body string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("answer %s of type %q", resp.Status, resp.Header.Get("Content-Type"))
	}
	st := &stream{t: t, resp: resp, lines: bufio.NewScanner(resp.Body), cancel: cancel}
	st.lines.Buffer(nil, 64<<20)
	t.Cleanup(st.close)
	return st
}

func (s *stream) close() {
	s.cancel()
	s.resp.Body.Close()
}

// next returns the next event; ok is false at the end of the stream. Comments are
// returned as events without data.
func (s *stream) next() (e sseEvent, ok bool) {
	s.t.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.event = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				s.t.Fatalf("decoding %s: %v", value, err)
			}
			ok = true
		case "":
			if value != "" {
				return sseEvent{event: ":" + value}, true
			}
			if ok {
				return e, true
			}
		}
	}
	return sseEvent{}, false
}

// rest returns the remaining events of the stream, short.
func (s *stream) rest() []string {
	s.t.Helper()
	var list []string
	for {
		e, ok := s.next()
		if !ok {
			return list
		}
		text := e.id + " " + e.event
		if e.data.Data != nil {
			text += " " + *e.data.Data
		}
		if gap := e.data.Gap; gap != nil {
			text += fmt.Sprintf(" %d-%d stdout %d-%d", gap.From, gap.To, gap.Stdout.From, gap.Stdout.To)
		}
		if e.data.DataBase64 != nil {
			text += fmt.Sprintf(" %x", e.data.DataBase64)
		}
		list = append(list, text)
		if !strings.HasPrefix(e.event, ":") && (e.event != e.data.Type || e.id != fmt.Sprint(e.data.Seq)) {
			s.t.Errorf("the event's head (%s, %s) differs from its data %+v", e.id, e.event, e.data)
		}
		if (e.event == "ended") != (e.data.Result != nil) || (e.event == "started") != (e.data.ExecutionID != "") {
			s.t.Errorf("event %+v", e)
		}
	}
}

func TestStream(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	st := s.openStream(t, "POST", path+"/execute", `{"command": "echo a warn b raw echo ü", "stream": true}`)
	want := []string{"1 started", "2 stdout a\n", "3 stderr b\n", "4 stdout ff00", "5 stdout ü\n", "6 ended"}
	if diff := cmp.Diff(want, st.rest()); diff != "" {
		t.Error("live stream (-want +got):\n" + diff)
	}
	events := st.resp.Header.Get("Location") + "/events"
	if diff := cmp.Diff(want, s.openStream(t, "GET", events, "").rest()); diff != "" {
		t.Error("replay (-want +got):\n" + diff)
	}
	if diff := cmp.Diff(want[4:], s.openStream(t, "GET", events, "", "Last-Event-ID", "4").rest()); diff != "" {
		t.Error("replay after an event (-want +got):\n" + diff)
	}
	if a := s.do(t, "DELETE", path, ""); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	s.eventually(t, func() bool { return s.node.Count() == 0 })
	// The node has forgotten it: the events come from the stored result, where that has them.
	want[3] = "4 gap 4-4 stdout 2-4"
	if diff := cmp.Diff(want, s.openStream(t, "GET", events, "").rest()); diff != "" {
		t.Error("replay from the store (-want +got):\n" + diff)
	}
	for after := range want {
		if diff := cmp.Diff(want[after:], s.openStream(t, "GET", events, "", "Last-Event-ID", strconv.Itoa(after)).rest()); diff != "" {
			t.Errorf("replay from the store after event %d (-want +got):\n%s", after, diff)
		}
	}
}

func TestStreamOfEphemeral(t *testing.T) {
	s := newServer(t)
	for range 20 {
		a := s.do(t, "POST", "/api/v1/sessions", `{"template_id": "shell-basic", "mode": "ephemeral"}`)
		st := s.openStream(t, "POST", a.header.Get("Location")+"/execute", `{"command": "echo a echo b echo c", "stream": true}`)
		var text string
		for {
			e, ok := st.next()
			if !ok {
				t.Fatal("the stream ended before its last event")
			}
			if e.data.Data != nil {
				text += *e.data.Data
			}
			if e.event == "ended" {
				break
			}
		}
		if text != "a\nb\nc\n" {
			t.Fatalf("the stream was %q", text)
		}
		st.close()
	}
	s.eventually(t, func() bool { return s.node.Count() == 0 })
}

func TestRunSurvivesItsWatcher(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	st := s.openStream(t, "POST", path+"/execute", `{"command": "echo a block echo b", "stream": true}`)
	st.next()
	st.close()
	s.node.Release()
	s.eventually(t, func() bool { return s.do(t, "GET", path+"/result", "").status == http.StatusOK })
	if a := s.do(t, "GET", path+"/result", ""); !strings.Contains(a.body, `"stdout":"a\nb\n"`) {
		t.Errorf("result %s", a.body)
	}
}

func TestHeartbeat(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) { c.Heartbeat = 5 * time.Millisecond })
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	st := s.openStream(t, "POST", path+"/execute", `{"command": "block", "stream": true}`)
	for range 4 {
		e, _ := st.next()
		if e.event != "started" && e.event != ":still running" {
			t.Errorf("event %+v, want a heartbeat", e)
		}
	}
	s.node.Release()
	if rest := st.rest(); rest[len(rest)-1] != "2 ended" {
		t.Errorf("the stream ended with %q", rest)
	}
}

func TestDrain(t *testing.T) {
	s := newServer(t)
	path := "/api/v1/sessions/" + s.session(t, "python-basic")
	st := s.openStream(t, "POST", path+"/execute", `{"command": "block", "stream": true}`)
	st.next()
	waiting := make(chan answer)
	go func() { waiting <- s.do(t, "POST", path+"/execute", `{"command": "block"}`) }()
	s.eventually(t, func() bool {
		return strings.Count(s.do(t, "GET", path+"/executions", "").body, `"running"`) == 2
	})
	s.api.Drain()
	if rest := st.rest(); len(rest) != 1 || !strings.Contains(rest[0], "the execution goes on") {
		t.Errorf("the stream ended with %q", rest)
	}
	a := <-waiting
	wantProblem(t, a, "unavailable", "")
	if !strings.Contains(a.body, "exe_") || a.header.Get("Retry-After") == "" {
		t.Errorf("the answer does not say how to go on: %s", a.body)
	}
}
