package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// The pair of requests that the service which Yurt replaces documents, to the byte.
const (
	documentedCreate  = `{"template_id":"python-basic","timeout":300,"resources":{"cpu":"1","memory":"512Mi","disk":"1Gi"}}`
	documentedExecute = `{"code":"def handler(event):\n    return {\"result\": \"hello world\"}","language":"python","timeout":30}`
)

// answer is the REST API's description of an execution, as far as it matters here.
type answer struct {
	ID        string          `json:"id"`
	Mode      string          `json:"mode"`
	State     string          `json:"state"`
	Code      string          `json:"code"` // of an error
	Result    json.RawMessage `json:"result"`
	Handler   string          `json:"handler"`
	Error     *yurt.ExecutionError
	Resources yurt.Resources `json:"resources"`
	Truncated yurt.Truncated `json:"truncated"`
}

// send sends a body as it is, and returns the status and the answer.
func send(t *testing.T, method, url, body string) (int, answer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatalf("%s %s answers %d, %.300q: %v", method, url, res.StatusCode, data, err)
	}
	return res.StatusCode, a
}

// submission is code that is sent, and the expected outcome.
type submission struct {
	name, body, result string
	called             bool
}

const greets = `def handler(event):\n    return {\"result\": \"hello world\"}`

func submissions() []submission {
	const hello = `{"result":"hello world"}`
	return []submission{
		{"as documented", documentedExecute, hello, true},
		{"an async handler", `{"code":"import asyncio\nasync def handler(event, context):\n    await asyncio.sleep(0)\n    return [event, context.memory_limit_in_mb]","language":"python"}`, `[{},512]`, true},
		{"explicit context", `{"code":"` + greets + `","language":"python","context":"default"}`, `null`, false},
		{"fresh interpreter asked for", `{"code":"` + greets + `","language":"python","context":""}`, `null`, false},
		{"handler is null", `{"code":"` + greets + `","language":"python","handler":null}`, `null`, false},
		{"every field written out", `{"code":"` + greets + `","language":"python","handler":null,"event":null,"context":null}`, `null`, false},
		{"it is there for what follows", `{"code":"handler({})","language":"python"}`, hello, false},
		{"more than definitions", `{"code":"` + greets + `\nprint(1)","language":"python"}`, `null`, false},
		{"handler by name", `{"code":"` + greets + `","language":"python","handler":"handler"}`, hello, false},
	}
}

// TestDocumentedRequests sends the documented requests verbatim, and similar ones.
func TestDocumentedRequests(t *testing.T) {
	t.Parallel()
	_, server := serveProcess(t)
	sessions := server.URL + "/api/v1/sessions"
	status, session := send(t, "POST", sessions, documentedCreate)
	want := yurt.Resources{CPU: 1, Memory: 512 << 20, Disk: 1 << 30, PIDs: yurt.DefaultResources().PIDs}
	if status != http.StatusCreated || session.Mode != "persistent" || session.Resources != want {
		t.Fatalf("the documented request for a session is answered with %d, %+v", status, session)
	}
	for _, s := range submissions() {
		t.Run(s.name, func(t *testing.T) {
			status, a := send(t, "POST", sessions+"/"+session.ID+"/execute", s.body)
			if status != http.StatusOK || string(a.Result) != s.result || a.Error != nil || s.called != (a.Handler == "handler") {
				t.Errorf("%s\nis answered with %d, result %s of %q, error %+v; want %s, called %t", s.body, status, a.Result, a.Handler, a.Error, s.result, s.called)
			}
		})
	}
	if status, a := send(t, "POST", sessions+"/"+session.ID+"/execute", `{"code":"1","language":"python","handler":null,"event":{}}`); status != http.StatusBadRequest || a.Code != "invalid_argument" {
		t.Errorf("an event for plain code is answered with %d, %s", status, a.Code)
	}
	_, once := send(t, "POST", sessions, `{"template_id":"python-basic","mode":"ephemeral","resources":{"cpu":"500m"}}`)
	if _, a := send(t, "POST", sessions+"/"+once.ID+"/execute", documentedExecute); string(a.Result) != `{"result":"hello world"}` || once.Resources.CPU != 0.5 {
		t.Errorf("an ephemeral session with %v cores returned %s, error %+v", once.Resources.CPU, a.Result, a.Error)
	}
}

// TestJavaScriptSubmissions: handlers of JavaScript, declared and exported, in the context and
// in a fresh interpreter.
func TestJavaScriptSubmissions(t *testing.T) {
	t.Parallel()
	client := serve(t)
	lasting := create(t, client, "javascript-basic")
	for code, want := range map[string]string{
		"function handler(event) { return { got: event } }":                                      `{"got":{}}`,
		"const handler = async (event, context) => context.functionName":                         `"handler"`,
		"const fs = require('fs'); exports.handler = async () => typeof fs.readFileSync":         `"function"`,
		"import path from 'node:path';\nexport const handler = () => path.join('a', 'b')":        `"a/b"`,
		"module.exports = { handler: (event, context, callback) => callback(null, [event, 1]) }": `[{},1]`,
	} {
		fleeting := create(t, client, "javascript-basic", func(r *yurtclient.CreateSessionRequest) { r.Mode = yurt.ModeEphemeral })
		for mode, session := range map[string]string{"persistent": lasting.ID, "ephemeral": fleeting.ID} {
			result := execute(t, client, session, yurtclient.ExecuteRequest{Language: "javascript", Code: code})
			if string(result.Result) != want || result.Handler != "handler" || result.Error != nil {
				t.Errorf("%s, %s: result %s of %q, error %+v; want %s", code, mode, result.Result, result.Handler, result.Error, want)
			}
		}
		result := execute(t, client, lasting.ID, yurtclient.ExecuteRequest{Language: "javascript", Code: code, Plain: true})
		if result.Handler != "" || result.Error != nil {
			t.Errorf("%s, as plain code: called %q, error %+v", code, result.Handler, result.Error)
		}
	}
}

// TestTypeScriptSubmissions: of TypeScript the compiled code says whether it only defines things.
func TestTypeScriptSubmissions(t *testing.T) {
	t.Parallel()
	client := serve(t)
	session := create(t, client, "typescript-basic")
	for code, want := range map[string]string{
		"interface E { n?: number }\nenum Colour { Red, Green }\nexport const handler = async (event: E): Promise<object> => ({ got: event.n ?? Colour.Green })": `{"got":1}`,
		"import path from 'node:path'\nfunction handler(event: object): string { return path.join('a', 'b') }":                                                   `"a/b"`,
		"exports.handler = (event: object) => Object.keys(event).length":                                                                                         `0`,
	} {
		result := execute(t, client, session.ID, yurtclient.ExecuteRequest{Language: "typescript", Code: code})
		if string(result.Result) != want || result.Handler != "handler" || result.Error != nil {
			t.Errorf("%s: result %s of %q, error %+v, stderr %q; want %s", code, result.Result, result.Handler, result.Error, result.Stderr, want)
		}
	}
	for _, req := range []yurtclient.ExecuteRequest{
		{Code: "export const handler = (): number => 1\nconsole.log('ran')"},
		{Code: "export const handler = (): number => 1", Plain: true},
	} {
		req.Language = "typescript"
		if result := execute(t, client, session.ID, req); result.Handler != "" || result.Error != nil {
			t.Errorf("%s, which is plain code, called %q, error %+v", req.Code, result.Handler, result.Error)
		}
	}
}

// TestLargeValues: the value of a last expression comes whole up to the limit, in a context and
// from a fresh interpreter, and beyond it the answer says that it is left out.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	client := serve(t)
	for _, l := range []struct{ template, language, text, list string }{
		{"python-basic", "python", "'x' * %d", "list(range(%d))"},
		{"javascript-basic", "javascript", "'x'.repeat(%d)", "Array.from({ length: %d }, (_, i) => i)"},
	} {
		session := create(t, client, l.template)
		for _, inside := range []json.RawMessage{nil, yurtclient.InContext("")} {
			run := func(format string, n int, limit yurt.Size) *yurt.Result {
				return execute(t, client, session.ID, yurtclient.ExecuteRequest{Language: l.language, Code: fmt.Sprintf(format, n), Context: inside, OutputLimit: limit})
			}
			for _, n := range []int{70_000, 6 << 20} {
				if r := run(l.text, n, 0); len(r.Result) != n+2 || r.Truncated.Result || r.Error != nil {
					t.Errorf("%s, context %q: a text of %d bytes came with %d, %+v, error %+v", l.language, inside, n, len(r.Result), r.Truncated, r.Error)
				}
			}
			var numbers []int
			if r := run(l.list, 20_000, 0); json.Unmarshal(r.Result, &numbers) != nil || len(numbers) != 20_000 || r.Truncated.Result {
				t.Errorf("%s, context %q: a list came with %d of 20000 numbers, %+v, error %+v", l.language, inside, len(numbers), r.Truncated, r.Error)
			}
			for n, limit := range map[int]yurt.Size{9 << 20: 0, 2000: 1000} {
				if r := run(l.text, n, limit); string(r.Result) != "null" || !r.Truncated.Result || r.Error != nil {
					t.Errorf("%s, context %q: a text of %d bytes, limit %s, came as %.20s, %+v, error %+v", l.language, inside, n, limit, r.Result, r.Truncated, r.Error)
				}
			}
		}
	}
}

// TestDeleteRaces: calls that come while a session is deleted succeed, or say that it has ended.
func TestDeleteRaces(t *testing.T) {
	t.Parallel()
	_, server := serveProcess(t)
	sessions := server.URL + "/api/v1/sessions"
	for range 8 {
		_, session := send(t, "POST", sessions, `{"template_id":"python-basic"}`)
		at := sessions + "/" + session.ID
		var calls sync.WaitGroup
		for _, c := range [][3]string{
			{"DELETE", "", ""},
			{"DELETE", "", ""},
			{"POST", "/pause", ""},
			{"GET", "/contexts", ""},
			{"GET", "/files?list=.", ""},
			{"GET", "/processes", ""},
			{"POST", "/execute", `{"command":["true"]}`},
			{"POST", "/execute", `{"code":"1","language":"python"}`},
			{"POST", "/execute", `{"code":"1","language":"python","context":""}`},
		} {
			pause := time.Duration(rand.Int64N(int64(20 * time.Millisecond)))
			calls.Go(func() {
				time.Sleep(pause)
				if status, a := send(t, c[0], at+c[1], c[2]); status != http.StatusOK && status != http.StatusConflict {
					t.Errorf("%s %s while the session is deleted is answered with %d, %s", c[0], c[1], status, a.Code)
				}
			})
		}
		calls.Wait()
		if status, a := send(t, "GET", at, ""); status != http.StatusOK || a.State != "terminated" {
			t.Errorf("the session is %s then, status %d", a.State, status)
		}
	}
}
