package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func TestPauseAndLook(t *testing.T) {
	s := newServer(t)
	id := s.session(t, "shell-basic")
	session := "/api/v1/sessions/" + id
	execution := s.begin(t, id, "trap end", "")
	var state yurt.Session
	for _, step := range []struct {
		verb string
		want yurt.SessionState
	}{{"pause", yurt.SessionPaused}, {"pause", yurt.SessionPaused}, {"resume", yurt.SessionRunning}} {
		a := s.do(t, "POST", session+"/"+step.verb, "")
		if a.decode(t, &state); a.status != http.StatusOK || state.State != step.want {
			t.Errorf("%s: %d %s", step.verb, a.status, a.body)
		}
	}
	wantProblem(t, s.do(t, "POST", session+"/resume", ""), yurt.CodeIllegalTransition, "")
	a := s.do(t, "POST", session+"/timeout", `{"timeout": "2h", "idle_timeout": 60}`)
	if a.status != http.StatusOK || !strings.Contains(a.body, `"timeout":7200,"idle_timeout":60`) {
		t.Errorf("timeout: %d %s", a.status, a.body)
	}
	wantProblem(t, s.do(t, "POST", session+"/timeout", `{}`), yurt.CodeInvalidArgument, "timeout")

	for path, want := range map[string]string{
		session + "/processes":                  `"name":"fake"`,
		session + "/metrics":                    `"memory_bytes":1048576`,
		session + "/events":                     `"from":"running","to":"paused","reason":"paused by its user"`,
		"/api/v1/containers":                    `"labels":{"session":"` + id + `"}`,
		"/api/v1/containers/" + state.SandboxID: `"id":"` + state.SandboxID + `"`,

		"/api/v1/containers/" + state.SandboxID + "/health": `"state":"ready","init_answers":true,"oom_kills":0,"usage":{`,
		"/api/v1/containers/" + state.SandboxID + "/logs":   `{"logs":[],"truncated":false}`,
	} {
		if a := s.do(t, "GET", path, ""); a.status != http.StatusOK || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, below := range []string{"", "/health", "/logs", "/logs?follow=true"} {
		wantProblem(t, s.do(t, "GET", "/api/v1/containers/sbx_none"+below, ""), yurt.CodeSandboxNotFound, "")
	}
	wantProblem(t, s.do(t, "DELETE", session+"/processes/99", ""), yurt.CodeProcessNotFound, "")
	if a := s.do(t, "POST", session+"/processes/2/signal", `{"signal": "TERM"}`); a.status != http.StatusNoContent {
		t.Errorf("signal: %d %s", a.status, a.body)
	}
	events := s.openStream(t, "GET", execution+"/events", "")
	if got := strings.Join(events.rest(), "|"); !strings.Contains(got, "SIGTERM") {
		t.Errorf("it had %s", got)
	}
}
