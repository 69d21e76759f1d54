package notebook

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestQuestionsToIPython: ipykernel and IPython answer questions about code, before the first
// execution and after it, and do not count them.
func TestQuestionsToIPython(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	for name, open := range map[string]func(*testing.T) session{"ipykernel": chosen, "ipython": inIPython} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			ask := func(kind yurt.QuestionKind, code string) yurt.Answer {
				t.Helper()
				q := yurt.Question{Kind: kind, Code: code, Language: "python", Timeout: yurt.Duration(yurt.MaxQuestionTimeout)}
				answer, err := s.executor.AskContext(t.Context(), s.sandbox, yurt.DefaultContext, q)
				if err != nil {
					t.Fatalf("asking to %s %q: %v", kind, code, err)
				}
				return answer
			}
			has := func(code, want string) {
				t.Helper()
				got := ask(yurt.QuestionComplete, code).Completion.Matches
				if !slices.ContainsFunc(got, func(m yurt.Match) bool { return strings.HasSuffix(m.Text, want) }) {
					t.Errorf("completing %q: %.300v, want %q among them", code, got, want)
				}
			}
			has("whi", "while")
			if r := s.run(t, "def greet(name):\n    'Says hello.'\nwords = {'first': 1}"); r.ExecutionCount != 1 || r.Error != nil {
				t.Errorf("execution_count %d after a question, error %+v; want 1", r.ExecutionCount, r.Error)
			}
			has("'é'; gre", "greet")
			has("words['fi", "first")
			found := ask(yurt.QuestionInspect, "greet").Inspection
			if text := string(found.Data["text/plain"]); !found.Found || !strings.Contains(text, "Says hello.") || strings.Contains(text, `\u001b`) {
				t.Errorf("inspecting a function: found %t, %s; want its text without colours", found.Found, text)
			}
			if found := ask(yurt.QuestionInspect, "nothere").Inspection; found.Found {
				t.Errorf("inspecting an unknown name: %+v", found)
			}
			if r := s.run(t, "len(In) - 1"); r.ExecutionCount != 2 || string(r.Result) != "2" {
				t.Errorf("execution_count %d, cells in In %s; want 2 and 2", r.ExecutionCount, r.Result)
			}
		})
	}
}
