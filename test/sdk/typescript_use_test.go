package sdk

import (
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestTypescript uses the package from an empty project: all of it as ESM, and results and errors as CommonJS, which has the same
// code. TestTypescriptCommonJS, with the build tag long, runs the scenarios so too.
func TestTypescript(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	project := installedTypescript(t, "@langchain/core@1.4.0", "ai@7.0.173", "zod@4.6.7")
	everyScenario(t, scenariosAs(t, "esm", project)...)
	for _, form := range []string{"esm", "cjs"} {
		t.Run("results and bad input/"+form, func(t *testing.T) {
			t.Parallel()
			url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
			program(t, project, "shows.mjs", "all shown\n", "YURT_SERVER="+url, "YURT_FORM="+form)
			program(t, project, "bad_input.mjs", "all refused\n", "YURT_SERVER="+url, "YURT_FORM="+form)
		})
	}
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		endsLocal(t, []string{"kill", "exit", "crash"}, node(t), filepath.Join(project, "local.mjs"))
	})
	t.Run("tools", func(t *testing.T) {
		t.Parallel()
		url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
		program(t, project, "tools.mjs", "all called\n", "YURT_SERVER="+url)
	})
}

// scenariosAs is the command that runs the scenarios with the package in one form, esm or cjs.
func scenariosAs(t *testing.T, form, project string) []string {
	t.Helper()
	return []string{"env", "YURT_FORM=" + form, node(t), filepath.Join(project, "scenarios.mjs")}
}

// program runs one of the SDK's test programs and compares its output.
func program(t *testing.T, project, name, want string, env ...string) {
	t.Helper()
	says(t, []string{node(t), filepath.Join(project, name)}, want, env...)
}
