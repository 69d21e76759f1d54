package kernel_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// badCell is code that no interpreter can make anything of, or that never ends.
type badCell struct {
	code, errorType string
	stdout          string
	lost            bool // the state is: it ends the interpreter
}

// badCells are some for each language that keeps state, whose variable x is 42.
func badCells() map[string][]badCell {
	return map[string][]badCell{
		"python": {
			{code: "x = = 1", errorType: yurt.ErrorTypeSyntax},
			{code: "print(x)\x00", errorType: yurt.ErrorTypeSyntax},
			{code: "\ufeffprint(x)", stdout: "42\n"},
			{code: strings.Repeat("(", 100_000), errorType: yurt.ErrorTypeSyntax},
			{code: "def f(n): return f(n + 1) + 1\nf(0)", errorType: "RecursionError"},
			{code: "while True: print('x' * 1000)", errorType: yurt.ErrorTypeTimeout},
			{code: "import sys\nwhile True: sys.stderr.write('x' * 1000)", errorType: yurt.ErrorTypeTimeout},
		},
		"javascript": {
			{code: "let z = = 1", errorType: yurt.ErrorTypeSyntax},
			{code: "console.log(x)\x00", errorType: yurt.ErrorTypeSyntax},
			{code: "\ufeffconsole.log(x)", stdout: "42\n"},
			{code: strings.Repeat("(", 100_000), errorType: "RangeError"},
			{code: "const f = (n) => f(n + 1) + 1; f(0)", errorType: "RangeError"},
			{code: "for (;;) console.log('x'.repeat(1000))", errorType: yurt.ErrorTypeTimeout},
			{code: "for (;;) console.error('x'.repeat(1000))", errorType: yurt.ErrorTypeTimeout},
			{code: "for (;;) require('fs').writeSync(2, 'x'.repeat(1000))", errorType: yurt.ErrorTypeTimeout},
		},
		"bash": {
			{code: "if )", errorType: yurt.ErrorTypeSyntax},
			{code: "echo $x\x00", stdout: "42\n"}, // which Bash leaves out
			{code: strings.Repeat("(", 100_000), errorType: yurt.ErrorTypeSyntax},
			{code: strings.Repeat("$(", 100_000), errorType: yurt.ErrorTypeSyntax},
			{code: "eval \"$(printf '$(%.0s' {1..100000})\"", errorType: yurt.ErrorTypeKernelDied, lost: true}, // Bash crashes
			{code: "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", errorType: yurt.ErrorTypeTimeout},
			{code: "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&2; done", errorType: yurt.ErrorTypeTimeout},
			{code: "ulimit -s 512; f() { f; }\nf", errorType: yurt.ErrorTypeKernelDied, lost: true},
		},
	}
}

// TestBadCells: any code in a context has a result that explains its end, and the next execution works, with the state
// unless the result says that it was lost.
func TestBadCells(t *testing.T) {
	t.Parallel()
	set := map[string]string{"python": "x = 42", "javascript": "let x = 42", "bash": "x=42"}
	get := map[string]string{"python": "print(x)", "javascript": "console.log(x)", "bash": "echo $x"}
	for language, cells := range badCells() {
		t.Run(language, func(t *testing.T) {
			n := newNotebook(t, runs(language))
			spoken := func(s *yurt.ExecutionSpec) { s.Language, s.OutputLimit = language, 64<<10 }
			n.run(set[language], spoken)
			for _, c := range cells {
				r := n.run(c.code, spoken, testutil.Timeout(2*time.Second))
				got := ""
				if r.Error != nil {
					got = r.Error.Type
				}
				endless := got == yurt.ErrorTypeTimeout
				if got != c.errorType || r.StateLost != c.lost || !endless && r.Stdout != c.stdout || len(r.Stdout) > 64<<10 || len(r.Stderr) > 64<<10 {
					t.Errorf("%.80q: error %+v, state lost %t, stdout %.100q, stderr %.300q", c.code, r.Error, r.StateLost, r.Stdout, r.Stderr)
				}
				if c.lost {
					n.run(set[language], spoken)
				}
				n.want("42\n", get[language], spoken)
			}
			for code, want := range map[string]yurt.Code{"x \xff\xfe": yurt.CodeInvalidArgument, strings.Repeat("\n", 10<<20): yurt.CodeLimitOutOfRange} {
				if err := n.e.StartExecution(t.Context(), n.sandbox, testutil.Cell(code, spoken)); yurt.CodeOf(err) != want {
					t.Errorf("%.10q is refused with %v, want %s", code, err, want)
				}
			}
			n.want("42\n", get[language], spoken)
		})
	}
}

// TestNameBelongsToOneLanguage: a context that was named is of one language, and the default
// one is there for each.
func TestNameBelongsToOneLanguage(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, func(s *yurt.SandboxSpec) { s.Template.Runtimes = []string{"python", "bash"} })
	n.want("1\n", "print(1)", testutil.InContext("a"))
	spec := testutil.Cell("echo 2", testutil.InContext("a"), bash)
	err := n.e.StartExecution(t.Context(), n.sandbox, spec)
	var coded *yurt.Error
	if !errors.As(err, &coded) || coded.Code != yurt.CodeInvalidArgument || coded.Field != "context" || !strings.Contains(coded.Message, `"a" belongs to python`) {
		t.Errorf("Bash in Python's context a: %v, want an invalid argument, context, that says whose it is", err)
	}
	n.want("2\n", "echo 2", bash) // both have the default one
	n.want("3\n", "print(3)")
	if err := n.e.RemoveContext(t.Context(), n.sandbox, "a", ""); err != nil {
		t.Fatal(err)
	}
	n.want("2\n", "echo 2", testutil.InContext("a"), bash)
}
