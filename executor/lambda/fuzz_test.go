package lambda

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// FuzzAnswers decodes arbitrary answers of a function: a result is always JSON and an error has bounded fields.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"", "null", `{"a":1}`, "text", "\xff", `{"errorType":"E","errorMessage":"m","stackTrace":["a"]}`,
		`{"errorType":1,"stackTrace":[{"path":"a","line":1}],"trace":[null]}`, `{"stackTrace":1}`, "[]",
	} {
		f.Add([]byte(seed), "E")
	}
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		result, failed := decodeResult(body)
		if failed == nil && (!json.Valid(result) || !utf8.Valid(result) || len(result) > yurt.MaxResultBytes) {
			t.Fatalf("result %q", result)
		}
		failed = decodeError(body, kind)
		if failed.Type == "" && kind != "" || len(failed.Type) > maxType || len(failed.Message) > maxMessage || len(failed.Stacktrace) > maxStack {
			t.Fatalf("error %+v", failed)
		}
	})
}
