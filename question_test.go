package yurt_test

import (
	"testing"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
)

// FuzzDecodeAnswer: for any answer of an interpreter, the decoded answer is within its bounds.
func FuzzDecodeAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"matches":[{"text":"print","type":"function"}],"cursor_start":0,"cursor_end":2}`,
		`{"matches":["print"],"cursor_start":0,"cursor_end":2}`, `{"matches":null,"cursor_start":-1,"cursor_end":1}`,
		`{"matches":[{"text":"a\u0007"}],"cursor_start":1,"cursor_end":0}`, `{"cursor_end":9}`, `{"cursor_end":1e9}`,
		`{"found":true,"data":{"text/plain":"x"}}`, `{"found":false,"data":{"a/b":1}}`, `{"found":true,"data":{"":1}}`,
		`{"found":true}`, `null`, `[]`, `{`, `"\ud800"`,
	} {
		f.Add([]byte(seed), "é.x", true)
		f.Add([]byte(seed), "é.x", false)
	}
	f.Fuzz(func(t *testing.T, data []byte, code string, inspects bool) {
		q := yurt.Question{Kind: yurt.QuestionComplete, Code: code}
		if inspects {
			q.Kind = yurt.QuestionInspect
		}
		answer, err := q.DecodeAnswer(data)
		if err != nil {
			return
		}
		if (answer.Completion == nil) == (answer.Inspection == nil) || (answer.Inspection != nil) != inspects {
			t.Fatalf("the answer to %q is %+v", q.Kind, answer)
		}
		if c := answer.Completion; c != nil && (c.Matches == nil || len(c.Matches) > yurt.MaxMatches || c.CursorStart < 0 || c.CursorEnd < c.CursorStart || c.CursorEnd > utf8.RuneCountInString(code)) {
			t.Errorf("a completion beyond its bounds: %+v", c)
		}
		if i := answer.Inspection; i != nil && (i.Data == nil || len(i.Data) > yurt.MaxInspectionTypes || !i.Found && len(i.Data) > 0) {
			t.Errorf("an inspection beyond its bounds: %+v", i)
		}
	})
}
