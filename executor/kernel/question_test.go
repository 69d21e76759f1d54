package kernel_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func (n *notebook) ask(kind yurt.QuestionKind, code string, change ...func(*yurt.Question)) (yurt.Answer, error) {
	q := yurt.Question{Kind: kind, Code: code, Language: "python"}
	for _, c := range change {
		c(&q)
	}
	return n.e.AskContext(n.t.Context(), n.sandbox, yurt.DefaultContext, q)
}

func (n *notebook) matches(code string) []string {
	n.t.Helper()
	answer, err := n.ask(yurt.QuestionComplete, code, func(q *yurt.Question) { q.Timeout = yurt.Duration(yurt.MaxQuestionTimeout) })
	if err != nil {
		n.t.Fatalf("completing %q: %v", code, err)
	}
	var texts []string
	for _, m := range answer.Completion.Matches {
		texts = append(texts, m.Text)
	}
	return texts
}

// TestCompletion: questions are answered before and after the first execution, and do not count as executions.
func TestCompletion(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	if got := n.matches("pri"); !slices.Contains(got, "print") {
		t.Errorf("before the first execution: %q, want print among them", got)
	}
	if r := n.run("import os\nclass P:\n    @property\n    def trap(self):\n        print('ran'); return 1\n    def method(self, alpha, beta=2):\n        'Doc of it.'\np = P(); data = {'first': 1, 'second': {'inner': 2}}\nopen('file.csv', 'w').close()"); r.ExecutionCount != 1 || r.KernelRestarted {
		t.Errorf("execution_count %d after a question, restarted %t; want 1, false", r.ExecutionCount, r.KernelRestarted)
	}
	for code, want := range map[string]string{
		"p.tr": "trap", "p.me": "method", "p.method(al": "alpha=", "data['fi": "first", "data['second']['in": "inner", "os.path.jo": "join",
		"import collec": "collections", "from os import pa": "path", "import xml.do": "dom", "from textwrap import ded": "dedent",
		"open('fi": "file.csv", "whi": "while", "'é'.upp": "upper", "value = 1\nval": "value",
		"%tim": "timeit", "value = 1\n  %%ba": "bash", "x = %who_": "who_ls",
	} {
		if got := n.matches(code); !slices.Contains(got, want) {
			t.Errorf("completing %q: %.200q, want %q among them", code, got, want)
		}
	}
	if got := n.matches("p.trap.re"); len(got) != 0 {
		t.Errorf("a property was run to complete it: %q", got)
	}
	answer, err := n.ask(yurt.QuestionInspect, "p.method", func(q *yurt.Question) { q.Detail = 1 })
	if err != nil || !answer.Inspection.Found {
		t.Fatalf("inspecting a method: %+v, %v", answer.Inspection, err)
	}
	for _, part := range []string{"alpha, beta=2", "Doc of it.", "def method"} {
		if text := string(answer.Inspection.Data["text/plain"]); !strings.Contains(text, part) {
			t.Errorf("inspection %s lacks %q", text, part)
		}
	}
	if answer, err := n.ask(yurt.QuestionInspect, "nothere"); err != nil || answer.Inspection.Found {
		t.Errorf("inspecting an unknown name: %+v, %v", answer.Inspection, err)
	}
	if r := n.run("1"); r.ExecutionCount != 2 || r.Stdout != "" {
		t.Errorf("execution_count %d, stdout %q; want 2 and nothing", r.ExecutionCount, r.Stdout)
	}
}

// TestQuestionsAreBounded: a question that hangs is interrupted and costs no state, one to a busy
// context is refused, and bad ones are, too.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	quick := func(q *yurt.Question) { q.Timeout = yurt.Duration(500 * time.Millisecond) }
	n.run("x = 42\nclass Hangs:\n    def __dir__(self):\n        while True: pass\nh = Hangs()\nclass Many:\n    def __dir__(self):\n        return ['a%06d' % i for i in range(100000)]\nmany = Many()")
	if _, err := n.ask(yurt.QuestionComplete, "h.", quick); yurt.CodeOf(err) != yurt.CodeDeadlineExceeded || !strings.Contains(err.Error(), "kept") {
		t.Errorf("an endless __dir__: %v, want deadline_exceeded, variables kept", err)
	}
	if r := n.want("42\n", "print(x)"); r.KernelRestarted {
		t.Error("the interpreter is another after a question that hung")
	}
	if got := n.matches("many."); len(got) != yurt.MaxMatches {
		t.Errorf("%d matches, want %d", len(got), yurt.MaxMatches)
	}
	spec := testutil.Cell("import time; time.sleep(2)")
	if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
		t.Fatal(err)
	}
	if _, err := n.ask(yurt.QuestionComplete, "x", quick); yurt.CodeOf(err) != yurt.CodeContextBusy {
		t.Errorf("a busy context: %v, want %s", err, yurt.CodeContextBusy)
	}
	if _, err := n.e.WaitExecution(t.Context(), n.sandbox, spec.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := n.e.AskContext(t.Context(), n.sandbox, "none", yurt.Question{Kind: yurt.QuestionComplete}); yurt.CodeOf(err) != yurt.CodeContextNotFound {
		t.Errorf("no such context: %v", err)
	}
	beyond := 2
	if _, err := n.ask(yurt.QuestionComplete, "é", func(q *yurt.Question) { q.Cursor = &beyond }); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
		t.Errorf("a cursor beyond the code: %v", err)
	}
}
