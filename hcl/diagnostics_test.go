package hcl

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
)

func parseError(t *testing.T, name, src string) *Error {
	t.Helper()
	_, err := Parse(name, []byte(src))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	return e
}

const wrongTwice = "template \"x\" {\n  resources {\n    memry = \"1Gi\"\n    pids  = 1\n  }\n}\n"

func TestErrorIsOfTheDomain(t *testing.T) {
	var coded *yurt.Error
	if err := error(parseError(t, "dir/x.hcl", wrongTwice)); !errors.As(err, &coded) {
		t.Fatalf("a %T is no *yurt.Error", err)
	}
	want := `dir/x.hcl:3:5: Unknown attribute: There is no attribute "memry" in a resources block. Did you mean "memory"? (and 1 more problem)`
	if coded.Code != yurt.CodeTemplateInvalid || coded.Message != want {
		t.Errorf("got %s %q", coded.Code, coded.Message)
	}
	if got := parseError(t, "x.hcl", strings.Replace(wrongTwice, "memry", "memory", 1)); !errors.As(got, &coded) || coded.Field != "resources.pids" {
		t.Errorf("the field is %q", coded.Field)
	}
}

func TestErrorAsJSON(t *testing.T) {
	got := string(indentJSON(t, parseError(t, "x.hcl", wrongTwice)))
	want := `{
  "diagnostics": [
    {
      "severity": "error",
      "summary": "Unknown attribute",
      "detail": "There is no attribute \"memry\" in a resources block. Did you mean \"memory\"?",
      "file": "x.hcl",
      "line": 3,
      "column": 5,
      "end_line": 3,
      "end_column": 10,
      "snippet": "    memry = \"1Gi\"",
      "context": "template \"x\""
    },
    {
      "severity": "error",
      "summary": "Value out of range",
      "detail": "resources.pids: 1 is out of range; give 4 to 65536",
      "file": "x.hcl",
      "line": 4,
      "column": 13,
      "end_line": 4,
      "end_column": 14,
      "snippet": "    pids  = 1",
      "context": "template \"x\"",
      "field": "resources.pids"
    }
  ]
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var back Error
	if err := json.Unmarshal([]byte(got), &back); err != nil || len(back.Diagnostics) != 2 {
		t.Errorf("does not read back: %v", err)
	}
}

func TestTextInColour(t *testing.T) {
	e := parseError(t, "x.hcl", wrongTwice)
	plain, colour := e.Text(false), e.Text(true)
	if plain != e.Error() || strings.Contains(plain, "\x1b") {
		t.Errorf("the plain text is %q", plain)
	}
	for _, part := range []string{styleError + "Error" + styleReset, styleUnderline + "    ^^^^^" + styleReset} {
		if !strings.Contains(colour, part) {
			t.Errorf("%q is not in %q", part, colour)
		}
	}
	for _, style := range []string{styleError, styleBold, styleUnderline, styleReset} {
		colour = strings.ReplaceAll(colour, style, "")
	}
	if diff := cmp.Diff(plain, colour); diff != "" {
		t.Errorf("colour changes more than colour:\n%s", diff)
	}
}

// TestSnippet: the carets stand under the problem, however the line looks.
func TestSnippet(t *testing.T) {
	pad := strings.Repeat("#", 500)
	for _, tt := range []struct{ name, src, line, marker string }{
		{"tab", "\tx = 1", " x = 1", " ^"},
		{"wide characters", "/* 世界 */ x = 1", "/* 世界 */ x = 1", "           ^"},
		{"combining characters", "/* e\u0301 */ x = 1", "/* e\u0301 */ x = 1", "        ^"},
		{"escape sequences", "/* \x1b[31m */ x = 1", "/* \ufffd[31m */ x = 1", "            ^"},
		{"right to left", "/* \u202e */ x = 1", "/* \ufffd */ x = 1", "        ^"},
		{"end of a long line", "/*" + pad + "*/ x = 1", "…" + pad[:57] + "*/ x = 1", strings.Repeat(" ", 61) + "^"},
		{"start of a long line", "x = 1 //" + pad, "x = 1 //" + pad[:152] + "…", "^"},
		{"name longer than the line", strings.Repeat("x", 300) + " = 1", strings.Repeat("x", 160) + "…", strings.Repeat("^", 160)},
		{"several lines", "x {\n}", "x {", "^"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := parseError(t, "x.hcl", tt.src+"\n").Diagnostics[0]
			if d.Snippet != tt.line || d.marker != tt.marker {
				t.Errorf("got\n%s|\n%s|\nwant\n%s|\n%s|", d.Snippet, d.marker, tt.line, tt.marker)
			}
		})
	}
}

func TestSnippetAtTheEnd(t *testing.T) {
	e := parseError(t, "x.hcl", "template \"x\" {")
	if d := e.Diagnostics[0]; d.Line != 1 || d.Snippet != "template \"x\" {" || !strings.Contains(d.marker, "^") {
		t.Errorf("got %+v", d)
	}
}

// TestHostileNames: names that come from outside cannot write to a terminal.
func TestHostileNames(t *testing.T) {
	checkError(t, parseError(t, "\x1b[2J\nx.hcl", "x = 1"))
	checkError(t, parseError(t, "x.hcl", "template \"\\u001b[2J\" {}"))
	checkError(t, parseError(t, "x.hcl", "template \"x\" {\n  runtimes = [\"\\u001b[2J\", \"\\u202e\"]\n  env = { \"\\u001b=\" = 1 }\n extends = \"\\u0007\"\n}"))
	_, err := ParseJSON([]byte(`{"name":"\u001b[2J","\u202e":1,"env":{"\u0007=":"x"}}`))
	checkError(t, err)
}

func TestSortedByPosition(t *testing.T) {
	e := parseError(t, "x.hcl", "a = 1\ntemplate \"x\" {\n  extends = \"y\"\n  b = 1\n}\nvariable \"v\" {}\nc = 2\n")
	var last int
	for _, d := range e.Diagnostics {
		if d.Line < last {
			t.Errorf("line %d comes after %d", d.Line, last)
		}
		last = d.Line
	}
	if len(e.Diagnostics) != 5 {
		t.Errorf("there are %d problems: %v", len(e.Diagnostics), e)
	}
}
