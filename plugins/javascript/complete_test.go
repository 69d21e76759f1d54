package javascript_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// question is put to complete.mjs. A cursor is at the bar in the code.
type question struct {
	Code    string `json:"code"`
	Cursor  int    `json:"cursor"`
	Inspect bool   `json:"inspect"`
}

type match struct {
	Text string `json:"text"`
	Type string `json:"type"`
}

type answer struct {
	Matches []match           `json:"matches"`
	Start   int               `json:"cursor_start"`
	End     int               `json:"cursor_end"`
	Found   bool              `json:"found"`
	Data    map[string]string `json:"data"`
}

func (a answer) has(text string) bool {
	return slices.ContainsFunc(a.Matches, func(m match) bool { return m.Text == text && m.Type != "" })
}

// given is the code that ran before. A call of one of its functions ends Node.
const given = `
globalThis.answer = 42;
globalThis.obj = { alpha: 1, beta: { gamma: [1, 2] }, "not a name": 1, get danger() { process.exit(9) } };
globalThis.hello = function hello(a, b = 2) { return a };
globalThis.inst = new (class Kls { run() {} get size() { process.exit(9) } })();
globalThis.proxy = new Proxy({}, { get() { process.exit(9) }, has() { process.exit(9) }, ownKeys() { process.exit(9) }, getOwnPropertyDescriptor() { process.exit(9) }, getPrototypeOf() { process.exit(9) } });
globalThis.sly = { [Symbol.for("nodejs.util.inspect.custom")]() { process.exit(9) }, get [Symbol.toStringTag]() { return "sly" }, toString() { process.exit(9) } };
`

// askNode puts questions to complete.mjs, after the code that is given.
func askNode(t *testing.T, questions []question) []answer {
	t.Helper()
	complete, err := filepath.Abs("complete.mjs")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	script := `import { complete, inspect } from "./complete.mjs";` + given +
		`console.log(JSON.stringify(` + string(data) + `.map((q) => (q.inspect ? inspect : complete)(q.code, q.cursor))))`
	node := exec.CommandContext(t.Context(), "node", "--input-type=module", "-")
	node.Stdin = strings.NewReader(strings.Replace(script, "./complete.mjs", complete, 1))
	out, err := node.Output()
	if err != nil {
		t.Fatalf("asking: %v, %s", err, out)
	}
	var answers []answer
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(questions) {
		t.Fatalf("%d answers, want %d: %v", len(answers), len(questions), err)
	}
	return answers
}

func ask(code string, inspect bool) question {
	before, after, _ := strings.Cut(code, "|")
	return question{Code: before + after, Cursor: len([]rune(before)), Inspect: inspect}
}

// TestComplete: completions of code, without a call of the user's functions.
func TestComplete(t *testing.T) {
	t.Parallel()
	tests := []struct{ code, has, lacks, start string }{
		{"answ|", "answer", "obj", "answ"},
		{"x = 1\nobj.be|", "beta", "alpha", "be"},
		{"obj.|", "danger", "not a name", ""},
		{"obj.danger.|", "", "toString", ""},
		{"obj.beta.gamma[0].toF|", "toFixed", "", "toF"},
		{`obj["beta"]?.gam|`, "gamma", "", "gam"},
		{"inst.|", "run", "danger", ""},
		{"inst.size.|", "", "toString", ""},
		{"proxy.|", "", "toString", ""},
		{"proxy.a.b|", "", "toString", "b"},
		{"console.lo| (1)", "log", "warn", "lo"},
		{"'é😀'.toUp|", "toUpperCase", "", "toUp"},
		{"process.env.PAT|", "PATH", "", "PAT"},
		{"crypto.subt|", "subtle", "", "subt"},
		{"foo(1).ba|", "", "answer", ""},
		{"const local = 3; loc|", "local", "", "loc"},
		{"fun|", "function", "", "fun"},
		{"null.|", "", "toString", ""},
		{"const fs = require('f|", "fs", "function", "f"},
		{"import { join } from \"pa|\"", "path", "process", "pa"},
		{"await import('node:pa|')", "node:path", "path", "node:pa"},
		{"", "answer", "", ""},
		{strings.Repeat("a.", 100_000) + "|", "", "answer", ""},
	}
	questions := make([]question, len(tests))
	for i, tt := range tests {
		questions[i] = ask(tt.code, false)
	}
	for i, got := range askNode(t, questions) {
		tt := tests[i]
		if tt.has != "" && !got.has(tt.has) || tt.has == "" && len(got.Matches) > 0 || got.has(tt.lacks) {
			t.Errorf("%.100q: %.300v, want %q among them and not %q", tt.code, got.Matches, tt.has, tt.lacks)
		}
		if q := questions[i]; got.End != q.Cursor || got.End-got.Start != len(tt.start) {
			t.Errorf("%.100q: from %d to %d, want %q before %d", tt.code, got.Start, got.End, tt.start, q.Cursor)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	tests := []struct{ code, want string }{
		{"hel|lo(1)", "function hello\nfunction hello(a, b = 2) { return a }"},
		{"hello(|", "function hello\nfunction"},
		{"obj.be|ta", "Object\n{ gamma: [ 1, 2 ] }"},
		{"ob|j", "danger: [Getter]"},
		{"answer|", "number\n42"},
		{"inst|", "Kls\nKls {}"},
		{"proxy|", "Proxy\n"},
		{"sl|y", "Object\n"},
		{"obj.danger|", ""},
		{"nosuch|", ""},
		{"|", ""},
	}
	questions := make([]question, len(tests))
	for i, tt := range tests {
		questions[i] = ask(tt.code, true)
	}
	for i, got := range askNode(t, questions) {
		if text := got.Data["text/plain"]; got.Found != (tests[i].want != "") || !strings.Contains(text, tests[i].want) {
			t.Errorf("%q: found %t, %q, want %q", tests[i].code, got.Found, text, tests[i].want)
		}
	}
}
