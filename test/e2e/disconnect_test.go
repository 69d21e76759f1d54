package e2e

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// TestOnDisconnect: an execution ends with the connection of its client if that asked for it, keeps
// the variables of its context, and goes on otherwise.
func TestOnDisconnect(t *testing.T) {
	client, server := serveProcess(t)
	session := create(t, client, "python-basic")
	execute(t, client, session.ID, yurtclient.ExecuteRequest{Code: "import time; kept = 42"})
	for _, test := range []struct {
		name, says string
		ends       bool
	}{
		{"a stream that asked for it", `"on_disconnect":"interrupt","stream":true`, true},
		{"a request that asked for it", `"on_disconnect":"interrupt"`, true},
		{"a stream", `"stream":true`, false},
		{"a request that says continue", `"on_disconnect":"continue"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := leave(t, client, server.URL, session.ID, `{"code":"print('begun', flush=True); time.sleep(3)",`+test.says+`}`)
			if err := client.WatchExecution(t.Context(), session.ID, id, 0, func(yurt.Event) error { return nil }); err != nil {
				t.Fatal(err)
			}
			ended, err := client.Result(t.Context(), session.ID, id)
			if err != nil {
				t.Fatal(err)
			}
			interrupted := ended.Result.Error != nil && ended.Result.Error.Type == yurt.ErrorTypeInterrupted
			if interrupted != test.ends || ended.Result.StateLost || ended.Result.Stdout != "begun\n" {
				t.Errorf("its client left, and it ended with %+v, output %q, state lost %t; want it interrupted: %t", ended.Result.Error, ended.Result.Stdout, ended.Result.StateLost, test.ends)
			}
		})
	}
	if after := execute(t, client, session.ID, yurtclient.ExecuteRequest{Code: "kept"}); string(after.Result) != "42" {
		t.Errorf("after the interrupts the variable is %s; want 42", after.Result)
	}
	for _, body := range []string{`{"code":"1","async":true,"on_disconnect":"interrupt"}`, `{"code":"1","on_disconnect":"stop"}`} {
		if status, refused := send(t, http.MethodPost, server.URL+"/api/v1/sessions/"+session.ID+"/execute", body); status != http.StatusBadRequest || refused.Code != string(yurt.CodeInvalidArgument) {
			t.Errorf("%s is answered with %d, %s; want 400, %s", body, status, refused.Code, yurt.CodeInvalidArgument)
		}
	}
}

// leave sends the request, cuts its connection once its code runs, and returns its execution.
func leave(t *testing.T, client *yurtclient.Client, url, sessionID, body string) (id string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/sessions/"+sessionID+"/execute", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		}
	}()
	defer func() { <-answered }()
	defer cancel()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		page, err := client.Executions(t.Context(), sessionID, yurtclient.ExecutionFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Executions) > 0 && !page.Executions[0].State.Ended() {
			time.Sleep(500 * time.Millisecond) // for its code to run
			return page.Executions[0].ID
		}
	}
	t.Fatal("the execution did not begin within 20 s")
	return ""
}
