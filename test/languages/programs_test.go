//go:build long

package languages

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/golang"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestPrograms runs programs as they are written for tasks: with standard input, several files, collections, concurrency,
// errors and exit codes.
func TestPrograms(t *testing.T) { runFiles(t, "programs") }

// TestSnippets runs code as language models write it for a first try: statements without a main function, with and
// without imports, with functions before and after their use.
func TestSnippets(t *testing.T) { runFiles(t, "snippets") }

// runFiles runs the cases of a directory, each without a context.
func runFiles(t *testing.T, dir string) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	cache := compiledtest.GoCache(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	config.HostPaths = append(yurt.OfferedHostPaths(), cache)
	e := testutil.Start(t, config)
	for language, file := range caseFiles(t, dir) {
		t.Run(language, func(t *testing.T) {
			template := templateOf(t, language)
			if language == "go" {
				template.RootFS.HostPaths = append(template.RootFS.HostPaths, cache)
				template.Env[golang.CacheEnv] = cache
			}
			s := create(t, e, template)
			for _, c := range readCases(t, file) {
				t.Run(c.name, func(t *testing.T) { c.try(t, e, s, language, "") })
			}
		})
	}
}
