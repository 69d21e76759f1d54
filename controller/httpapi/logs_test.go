package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/contract"
)

// TestLogs: the output comes by execution, the newest last, that of a running one included, and the oldest is dropped
// first when the limit is reached.
func TestLogs(t *testing.T) {
	s := newServer(t)
	id := s.session(t, "shell-basic")
	logs := "/api/v1/sessions/" + id + "/logs"
	if a := s.do(t, "GET", logs, ""); a.status != http.StatusOK || strings.TrimSpace(a.body) != `{"logs":[],"truncated":false}` {
		t.Errorf("before anything: %d %s", a.status, a.body)
	}
	for _, script := range []string{"echo one warn two", "raw"} {
		if a := s.do(t, "POST", "/api/v1/sessions/"+id+"/execute", `{"command": "`+script+`"}`); a.status != http.StatusOK {
			t.Fatalf("%s: %s", script, a.body)
		}
	}
	running := s.begin(t, id, "echo three trap end", "")
	client := contract.Client(t, s.URL)
	var entries []yurt.LogEntry
	s.eventually(t, func() bool {
		var truncated bool
		var err error
		if entries, truncated, err = client.Logs(t.Context(), id, 0); err != nil || truncated {
			t.Fatalf("there was more: %v, error %v", truncated, err)
		}
		return len(entries) == 4
	})
	for i, want := range []struct {
		kind yurt.EventType
		text string
	}{{yurt.EventStdout, "one\n"}, {yurt.EventStderr, "two\n"}, {yurt.EventStdout, "\ufffd\x00"}, {yurt.EventStdout, "three\n"}} {
		if got := entries[i]; got.Type != want.kind || string(got.Data) != want.text || got.At.IsZero() {
			t.Errorf("entry %d is %+v %q, want %+v", i, got, got.Data, want)
		}
	}
	if !strings.HasSuffix(running, entries[3].ExecutionID) {
		t.Errorf("the last is of %s, not of %s", entries[3].ExecutionID, running)
	}
	if a := s.do(t, "POST", running+"/signal", `{"signal": "TERM"}`); a.status != http.StatusNoContent {
		t.Fatalf("signal: %s", a.body)
	}
	s.eventually(t, func() bool { return strings.Contains(s.do(t, "GET", running, "").body, `"state":"succeeded"`) })
	tail, truncated, err := client.Logs(t.Context(), id, len("three\nSIGTERMend")-2)
	if err != nil || !truncated || len(tail) != 1 || string(tail[0].Data) != "ree\nSIGTERMend" {
		t.Errorf("the end of it is %+v, truncated %v, error %v", tail, truncated, err)
	}
	wantProblem(t, s.do(t, "GET", "/api/v1/sessions/ses_none/logs", ""), yurt.CodeSessionNotFound, "")
	wantProblem(t, s.do(t, "GET", "/api/v1/sessions/ses_none/logs?follow=true", ""), yurt.CodeSessionNotFound, "")
	if a := s.do(t, "GET", logs+"?limit=0", ""); a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest {
		t.Errorf("no limit: %d %s", a.status, a.body)
	}
}

// TestFollowLogs: a follower gets the output of ended, running and later executions, until the session has ended.
func TestFollowLogs(t *testing.T) {
	s := newServer(t)
	id := s.session(t, "shell-basic")
	if a := s.do(t, "POST", "/api/v1/sessions/"+id+"/execute", `{"command": "echo one"}`); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	running := s.begin(t, id, "echo two trap", "")
	var text string
	err := contract.Client(t, s.URL).FollowLogs(t.Context(), id, 0, func(e yurt.LogEntry) error {
		text += string(e.Data)
		switch text {
		case "one\ntwo\n":
			s.do(t, "POST", running+"/signal", `{"signal": "TERM"}`)
		case "one\ntwo\nSIGTERM":
			s.begin(t, id, "echo three block", "")
		case "one\ntwo\nSIGTERMthree\n":
			s.do(t, "DELETE", "/api/v1/sessions/"+id, "")
		}
		return nil
	})
	if want := "one\ntwo\nSIGTERMthree\n"; err != nil || text != want {
		t.Errorf("it followed %q, error %v; want %q", text, err, want)
	}
}

// TestContainerLogs: the log of a sandbox is that of its session, also as it grows. A warm sandbox, which has no session, has no log.
func TestContainerLogs(t *testing.T) {
	s := newServer(t)
	template, err := s.ctl.Template(t.Context(), "shell-basic")
	if err != nil {
		t.Fatal(err)
	}
	warm, err := s.node.ReserveSandbox(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "?follow=true"} {
		wantProblem(t, s.do(t, "GET", "/api/v1/containers/"+warm.ID+"/logs"+query, ""), yurt.CodeSessionNotFound, "")
	}
	id := s.session(t, "python-basic")
	session, err := s.ctl.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if a := s.do(t, "POST", "/api/v1/sessions/"+id+"/execute", `{"command": "echo one"}`); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	client := contract.Client(t, s.URL)
	entries, truncated, err := yurtclient.ContainerLogs(t.Context(), client, session.SandboxID, 0)
	if err != nil || truncated || len(entries) != 1 || string(entries[0].Data) != "one\n" {
		t.Errorf("the log of the sandbox is %+v, truncated %v, error %v; want that of its session", entries, truncated, err)
	}
	var text string
	err = yurtclient.FollowContainerLogs(t.Context(), client, session.SandboxID, 0, func(e yurt.LogEntry) error {
		if text += string(e.Data); text == "one\n" {
			s.begin(t, id, "echo two", "")
		} else {
			s.do(t, "DELETE", "/api/v1/sessions/"+id, "")
		}
		return nil
	})
	if err != nil || text != "one\ntwo\n" {
		t.Errorf("a follower got %q, error %v; want the output of both executions", text, err)
	}
}
