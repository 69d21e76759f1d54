package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestCompletionInNode: contexts of JavaScript and TypeScript answer questions before and after executions, do not
// count questions as executions, and call no getter for an answer.
func TestCompletionInNode(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	languages := []string{"javascript", "typescript"}
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Template.Runtimes = languages })
	for _, language := range languages {
		ask := func(kind yurt.QuestionKind, code string) yurt.Answer {
			t.Helper()
			answer, err := e.AskContext(t.Context(), s.ID, yurt.DefaultContext, yurt.Question{Kind: kind, Code: code, Language: language})
			if err != nil {
				t.Fatalf("%s: asking to %s %q: %v", language, kind, code, err)
			}
			return answer
		}
		has := func(code, want string) {
			t.Helper()
			if got := ask(yurt.QuestionComplete, code).Completion.Matches; !slices.ContainsFunc(got, func(m yurt.Match) bool { return m.Text == want }) {
				t.Errorf("%s: completing %q: %.300v, want %q among them", language, code, got, want)
			}
		}
		has("conso", "console")
		spec := testutil.Cell("const car = { wheels: 4, get trap() { process.exit(9) } }; function drive(speed) { return speed }")
		spec.Language = language
		if r := testutil.Execute(t, e, s.ID, spec); r.ExecutionCount != 1 || r.Error != nil {
			t.Errorf("%s: execution_count %d after a question, error %+v; want 1", language, r.ExecutionCount, r.Error)
		}
		has("'é'; car.wh", "wheels")
		has("car.", "trap")
		has("dri", "drive")
		if found := ask(yurt.QuestionInspect, "drive").Inspection; !found.Found || !strings.Contains(string(found.Data["text/plain"]), "return speed") {
			t.Errorf("%s: inspecting a function: %+v", language, found)
		}
		spec = testutil.Cell("car.wheels")
		spec.Language = language
		if r := testutil.Execute(t, e, s.ID, spec); r.ExecutionCount != 2 || string(r.Result) != "4" || r.Stdout != "" {
			t.Errorf("%s: execution_count %d, result %s, stdout %q; want 2, 4 and nothing", language, r.ExecutionCount, r.Result, r.Stdout)
		}
	}
}
