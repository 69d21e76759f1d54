package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/internal/protocol"
)

func TestDecodeEnvelope(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data   string
		result string
		err    *yurt.ExecutionError
		bad    string // part of the error
	}{
		"null":     {data: `{"result":null}`, result: `null`},
		"value":    {data: ` { "result" : {"a":[1,"ü"]} } ` + "\n", result: `{"a":[1,"ü"]}`},
		"error":    {data: `{"error":{"type":"E","message":"m","stacktrace":["a","b"]}}`, err: &yurt.ExecutionError{Type: "E", Message: "m", Stacktrace: []string{"a", "b"}}},
		"no stack": {data: `{"error":{"type":"E"}}`, err: &yurt.ExecutionError{Type: "E", Stacktrace: []string{}}},
		"reserved": {data: `{"error":{"type":"SandboxLost"}}`, err: &yurt.ExecutionError{Type: "user.SandboxLost", Stacktrace: []string{}}},
		"reserved in disguise": {
			data: `{"error":{"type":"SandboxLost\n"}}`, err: &yurt.ExecutionError{Type: "SandboxLost_", Stacktrace: []string{}},
		},
		"ours":            {data: `{"error":{"type":"HandlerNotFound"}}`, err: &yurt.ExecutionError{Type: "HandlerNotFound", Stacktrace: []string{}}},
		"empty":           {data: ``, bad: "no result"},
		"not JSON":        {data: `hello`, bad: "not a JSON object"},
		"list":            {data: `[]`, bad: "not a JSON object"},
		"null itself":     {data: `null`, bad: "0 fields"},
		"two values":      {data: `{"result":1}{"result":2}`, bad: "not a JSON object"},
		"both":            {data: `{"result":1,"error":{"type":"E"}}`, bad: "2 fields"},
		"neither":         {data: `{"other":1}`, bad: "neither result nor error"},
		"other case":      {data: `{"RESULT":1}`, bad: "neither result nor error"},
		"cut off":         {data: `{"result":[1,2`, bad: "not a JSON object"},
		"not UTF-8":       {data: "{\"result\":\"\xff\"}", bad: "not UTF-8"},
		"NaN":             {data: `{"result":NaN}`, bad: "not a JSON object"},
		"error is null":   {data: `{"error":null}`, bad: "no type"},
		"error is text":   {data: `{"error":"x"}`, bad: "not an object"},
		"type is empty":   {data: `{"error":{"type":""}}`, bad: "no type"},
		"type is number":  {data: `{"error":{"type":1}}`, bad: "wrong type"},
		"stack is text":   {data: `{"error":{"type":"E","stacktrace":"x"}}`, bad: "wrong type"},
		"unknown field":   {data: `{"error":{"type":"E","extra":1}}`, bad: `unknown field "extra"`},
		"nested too deep": {data: `{"result":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, bad: "exceeded max depth"},
		"too large":       {data: `{"result":"` + strings.Repeat("x", MaxEnvelopeBytes) + `"}`, bad: "exceeds"},
		"result too large": {
			data: `{"result":"` + strings.Repeat("x", yurt.MaxResultBytes) + `"}`,
			err: &yurt.ExecutionError{
				Type: yurt.ErrorTypeResultTooLarge, Stacktrace: []string{},
				Message: fmt.Sprintf("the result has %d bytes of JSON; at most %d are allowed", yurt.MaxResultBytes+2, yurt.MaxResultBytes),
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := DecodeEnvelope([]byte(tt.data))
			result, execErr := out.Result, out.Error
			if tt.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tt.bad) || len(err.Error()) > 500 {
					t.Errorf("error %v, want %q", err, tt.bad)
				}
				return
			}
			if err != nil || string(result) != tt.result {
				t.Errorf("result %.100s, error %v, want %s", result, err, tt.result)
			}
			if diff := cmp.Diff(tt.err, execErr); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeEnvelopeCuts(t *testing.T) {
	t.Parallel()
	stack := make([]string, 1000)
	for i := range stack {
		stack[i] = fmt.Sprint("line ", i)
	}
	stack[0] = strings.Repeat("ü", maxStackLineBytes)
	data, err := json.Marshal(map[string]any{"error": map[string]any{
		"type": strings.Repeat("T", 1000), "message": strings.Repeat("m", 1<<20), "stacktrace": stack,
	}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := DecodeEnvelope(data)
	got := out.Error
	if err != nil {
		t.Fatal(err)
	}
	checkBounds(t, got)
	if len(got.Stacktrace) != maxStackLines+1 || got.Stacktrace[maxStackLines] != "line 999" || !strings.Contains(got.Stacktrace[maxStackLines/2], "744 lines left out") {
		t.Errorf("%d lines, the last one %q", len(got.Stacktrace), got.Stacktrace[len(got.Stacktrace)-1])
	}
}

func checkBounds(t *testing.T, got *yurt.ExecutionError) {
	t.Helper()
	const mark = len("…[cut]")
	if got.Type == "" || len(got.Type) > maxErrorTypeBytes+mark || strings.ContainsFunc(got.Type, unicode.IsControl) {
		t.Errorf("type %q", got.Type)
	}
	if len(got.Message) > protocol.MaxErrorBytes+mark || !utf8.ValidString(got.Message) {
		t.Errorf("message of %d bytes", len(got.Message))
	}
	if got.Stacktrace == nil || len(got.Stacktrace) > maxStackLines+1 {
		t.Errorf("stack trace of %d lines", len(got.Stacktrace))
	}
	for _, line := range got.Stacktrace {
		if len(line) > maxStackLineBytes+mark || !utf8.ValidString(line) {
			t.Errorf("stack line of %d bytes", len(line))
		}
	}
}

// FuzzDecodeEnvelope checks that any bytes that a run writes are refused or decode to exactly one
// thing that is safe to hand on.
func FuzzDecodeEnvelope(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{"result":null}`, `{"result":{"a":[1,2.5e10,"\ud800"]}}`, `{"result":1,"result":2}`, `{"result":1}{}`,
		`{"error":{"type":"E","message":"m","stacktrace":["a"]}}`, `{"error":{"type":"SandboxLost"}}`, `{"error":{"type":"\u0000\n"}}`,
		`{"error":{"type":"E","stacktrace":null}}`, `{"error":{"TYPE":"E"}}`, "{\"result\":\"\xff\"}", `{"result":`, `{"error":{"type":"` + strings.Repeat("é", 200) + `"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := DecodeEnvelope(data)
		result, execErr := out.Result, out.Error
		switch {
		case err != nil:
			if result != nil || execErr != nil {
				t.Error("an error comes with something else")
			}
		case execErr != nil:
			if result != nil {
				t.Error("both result and error")
			}
			checkBounds(t, execErr)
		case !json.Valid(result) || !utf8.Valid(result) || len(result) > yurt.MaxResultBytes:
			t.Errorf("result %.100q", result)
		}
	})
}
