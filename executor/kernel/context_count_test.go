package kernel_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestExecutionCount: executions are counted by their interpreter, in every language that keeps
// state, failed ones too; a fresh interpreter begins again.
func TestExecutionCount(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) {
		ofJava(s)
		s.Template.Runtimes = []string{"python", "javascript", "bash", "java", "r"}
	})
	for language, codes := range map[string][]string{
		"python":     {"x = 1", "1/0", "1 +", "x"},
		"javascript": {"let x = 1", "throw new Error('no')", "1 +", "x"},
		"bash":       {"x=1", "false", "if", "echo $x"},
		"java":       {"int x = 1;", "throw new Exception(\"no\");", "1 +", "x"},
		"r":          {"x <- 1", "stop('no')", "1 +", "x"},
	} {
		run := func(code string) *yurt.Result {
			spec := testutil.Cell(code)
			spec.Language = language
			return testutil.Execute(t, e, s.ID, spec)
		}
		for i, code := range codes {
			if r := run(code); r.ExecutionCount != i+1 {
				t.Errorf("%s: execution_count of %q is %d, want %d (%+v)", language, code, r.ExecutionCount, i+1, r.Error)
			}
		}
		if err := e.RestartContext(t.Context(), s.ID, yurt.DefaultContext, language); err != nil {
			t.Fatal(err)
		}
		if r := run(codes[0]); r.ExecutionCount != 1 {
			t.Errorf("%s: after a restart execution_count is %d, want 1", language, r.ExecutionCount)
		}
		last := map[string]string{"python": "import sys; sys.exit(3)", "javascript": "process.exit(3)", "bash": "exit 3", "java": "System.exit(3);", "r": "quit(status = 3)"}[language]
		if r := run(last); r.ExecutionCount != 2 {
			t.Errorf("%s: execution_count of %q is %d, want 2 (%+v)", language, last, r.ExecutionCount, r.Error)
		}
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Python("1")); r.ExecutionCount != 0 {
		t.Errorf("without a context execution_count is %d, want none", r.ExecutionCount)
	}
}
