package lambda_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/executor/lambda"
)

// maxPieces is more than any response of the tests has.
const maxPieces = 1 << 10

// client speaks to a server as a function would.
type client struct {
	t       *testing.T
	server  *lambda.Server
	addr    string
	answers chan lambda.Answer
	pieces  chan lambda.Piece
}

func newClient(t *testing.T) *client {
	t.Helper()
	answers, pieces := make(chan lambda.Answer, 1), make(chan lambda.Piece, maxPieces)
	c := newClientTold(t, lambda.Told{Answer: func(a lambda.Answer) { answers <- a }, Piece: func(p lambda.Piece) { pieces <- p }})
	c.answers, c.pieces = answers, pieces
	return c
}

func newClientTold(t *testing.T, told lambda.Told) *client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, addr: listener.Addr().String(), server: lambda.New(told)}
	served := make(chan error, 1)
	go func() { served <- c.server.Serve(listener) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := c.server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return c
}

// do sends a request and returns the status and the body of the answer.
func (c *client) do(method, path string, body io.Reader, change ...func(*http.Request)) (*http.Response, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.addr+"/2018-06-01/runtime/"+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range change {
		f(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(data)
}

func (c *client) invoke(id, event string) {
	c.t.Helper()
	if err := c.server.Invoke(lambda.Invocation{ID: id, Event: []byte(event), Deadline: time.UnixMilli(1234), ARN: "arn", TraceID: "trace", ClientContext: `{"a":1}`}); err != nil {
		c.t.Fatal(err)
	}
}

func TestInvocation(t *testing.T) {
	c := newClient(t)
	for i := range 2 {
		id := fmt.Sprint("id", i)
		c.invoke(id, `{"n":1}`)
		if err := c.server.Invoke(lambda.Invocation{ID: "other"}); err == nil {
			t.Error("an invocation was taken while another was under way")
		}
		resp, event := c.do(http.MethodGet, "invocation/next", nil)
		header := map[string]string{
			"Lambda-Runtime-Aws-Request-Id": id, "Lambda-Runtime-Deadline-Ms": "1234", "Lambda-Runtime-Invoked-Function-Arn": "arn",
			"Lambda-Runtime-Trace-Id": "trace", "Lambda-Runtime-Client-Context": `{"a":1}`, "Lambda-Runtime-Cognito-Identity": "",
		}
		for name, want := range header {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if event != `{"n":1}` || resp.StatusCode != http.StatusOK {
			t.Errorf("event %q, status %d", event, resp.StatusCode)
		}
		if resp, body := c.do(http.MethodPost, "invocation/forged/response", strings.NewReader("1")); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "InvalidRequestID") {
			t.Errorf("another's id: %d %s", resp.StatusCode, body)
		}
		if resp, body := c.do(http.MethodPost, "invocation/"+id+"/response", strings.NewReader(`{"ok":true}`)); resp.StatusCode != http.StatusAccepted || body != `{"status":"OK"}` {
			t.Errorf("the response: %d %s", resp.StatusCode, body)
		}
		if a := <-c.answers; a.ID != id || string(a.Result) != `{"ok":true}` || a.Error != nil || a.Init {
			t.Errorf("answer %+v", a)
		}
		if resp, _ := c.do(http.MethodPost, "invocation/"+id+"/response", strings.NewReader("2")); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("a second response: %d", resp.StatusCode)
		}
	}
}

func TestAnswers(t *testing.T) {
	streaming := func(trailer map[string]string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Lambda-Runtime-Function-Response-Mode", "streaming")
			r.ContentLength, r.Trailer = -1, http.Header{}
			for name, value := range trailer {
				r.Trailer.Set(name, value)
			}
		}
	}
	failed := base64.StdEncoding.EncodeToString([]byte(`{"errorType":"Broken","errorMessage":"half way"}`))
	tests := map[string]struct {
		path, body           string
		change               func(*http.Request)
		status               int
		result, kind, detail string
		stack                string
	}{
		"nothing":          {path: "response", result: "null"},
		"text":             {path: "response", body: "a <b> ü", result: `"a <b> ü"`},
		"bytes":            {path: "response", body: "\xff\x00", result: `{"base64":"/wA="}`},
		"largest":          {path: "response", body: `"` + strings.Repeat("a", lambda.MaxBody-2) + `"`, result: `"` + strings.Repeat("a", lambda.MaxBody-2) + `"`},
		"too large":        {path: "response", body: strings.Repeat("a", lambda.MaxBody+1), status: http.StatusRequestEntityTooLarge, kind: "Function.ResponseSizeTooLarge"},
		"grows too large":  {path: "response", body: strings.Repeat("\x01", lambda.MaxBody), kind: "ResultTooLarge"},
		"streamed":         {path: "response", body: "piece", change: streaming(nil), result: `"piece"`},
		"stream that ends": {path: "response", body: "piece", change: streaming(map[string]string{"Lambda-Runtime-Function-Error-Type": "Broken", "Lambda-Runtime-Function-Error-Body": failed}), kind: "Broken", detail: "half way"},
		"error":            {path: "error", body: `{"errorType":"E","errorMessage":"m","stackTrace":["a","b"]}`, kind: "E", detail: "m", stack: "a|b"},
		"error of Go":      {path: "error", body: `{"errorType":"E","errorMessage":"m","stackTrace":[{"path":"main.go","line":3,"label":"f"}]}`, kind: "E", detail: "m", stack: "main.go:3 f"},
		"error of Node":    {path: "error", body: `{"errorType":"E","errorMessage":"m","trace":["a"]}`, kind: "E", detail: "m", stack: "a"},
		"error by header": {path: "error", body: `no JSON`, change: func(r *http.Request) {
			r.Header.Set("Lambda-Runtime-Function-Error-Type", "H")
		}, kind: "H", detail: "no JSON"},
		"error of other types": {path: "error", body: `{"errorType":1,"errorMessage":{},"stackTrace":[1]}`, kind: "Runtime.Unknown", stack: "1"},
		"no error":             {path: "error", kind: "Runtime.Unknown"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newClient(t)
			c.invoke("id", "{}")
			change := tt.change
			if change == nil {
				change = func(*http.Request) {}
			}
			resp, _ := c.do(http.MethodPost, "invocation/id/"+tt.path, strings.NewReader(tt.body), change)
			if want := max(tt.status, http.StatusAccepted); resp.StatusCode != want {
				t.Errorf("status %d, want %d", resp.StatusCode, want)
			}
			a := <-c.answers
			if tt.kind == "" {
				if a.Error != nil || string(a.Result) != tt.result {
					t.Errorf("result %.100s, error %+v; want %.100s", a.Result, a.Error, tt.result)
				}
				return
			}
			if a.Error == nil || a.Error.Type != tt.kind || !strings.Contains(a.Error.Message, tt.detail) || strings.Join(a.Error.Stacktrace, "|") != tt.stack {
				t.Errorf("error %+v, want %s, %s, %s", a.Error, tt.kind, tt.detail, tt.stack)
			}
		})
	}
}

// TestInitErrorLasts has a function fail to load before it is invoked.
func TestInitErrorLasts(t *testing.T) {
	c := newClient(t)
	if resp, _ := c.do(http.MethodPost, "init/error", strings.NewReader(`{"errorType":"Runtime.ImportModuleError","errorMessage":"m"}`)); resp.StatusCode != http.StatusAccepted {
		t.Errorf("status %d", resp.StatusCode)
	}
	c.invoke("id", "{}")
	if a := <-c.answers; a.ID != "id" || !a.Init || a.Error == nil || a.Error.Type != "Runtime.ImportModuleError" {
		t.Errorf("answer %+v", a)
	}
}

// TestCloseEndsWhatWaits closes a server that a function asks for its next invocation.
func TestCloseEndsWhatWaits(t *testing.T) {
	c := newClient(t)
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, _ := c.do(http.MethodGet, "of-nobody", nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a path of nobody: %d", resp.StatusCode)
	}
	if err := c.server.Close(); err != nil {
		t.Error(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
		resp.Body.Close()
		if resp.Header.Get("Lambda-Runtime-Aws-Request-Id") != "" {
			t.Error("an invocation came of nothing")
		}
	}
}
