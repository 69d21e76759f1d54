package packages

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
)

// TestCompiledDependenciesAreKept: a session's own build cache is as large after a program that
// needs a module as after one without modules.
func TestCompiledDependenciesAreKept(t *testing.T) {
	t.Parallel()
	cache := ""
	if !testing.Short() {
		cache = compiledtest.GoCache(t)
	}
	e := node(t, func(c *executor.Config) { c.HostPaths = append(yurt.OfferedHostPaths(), cache) })
	compiled := func(code string, dependencies ...string) string {
		s := sandbox(t, e, "go")
		wantOutput(t, run(t, e, s, yurt.ExecutionSpec{Language: "go", Code: code, Dependencies: dependencies}), "[a b]\n")
		o := run(t, e, s, yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: []string{"sh", "-c", "find /tmp/.yurt-cache/go/go-build -type f -name '*-a' | wc -l"}})
		return strings.TrimSpace(o.Stdout)
	}
	alone := compiled("import \"fmt\"\n\nfmt.Println([]string{\"a\", \"b\"})\n")
	const uses = "import (\n\t\"fmt\"\n\n\t\"github.com/mitchellh/go-wordwrap\"\n)\n\nfmt.Println([]string{wordwrap.WrapString(\"a b\", 5)})\n"
	for range 2 {
		if with := compiled(uses, "github.com/mitchellh/go-wordwrap@v1.0.1"); with != alone {
			t.Errorf("%s results were compiled in the session, and %s without the module", with, alone)
		}
	}
}
