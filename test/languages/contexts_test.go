//go:build long

package languages

import (
	"fmt"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestContexts runs the cells of notebooks, one by one, in contexts.
func TestContexts(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	e := testutil.Start(t, config)
	for language, file := range caseFiles(t, "contexts") {
		t.Run(language, func(t *testing.T) {
			s := create(t, e, templateOf(t, language))
			for i, c := range readCases(t, file) {
				t.Run(c.name, func(t *testing.T) {
					name := fmt.Sprintf("case-%d", i)
					c.try(t, e, s, language, name)
					if err := e.RemoveContext(t.Context(), s, name, language); err != nil {
						t.Errorf("removing the context: %v", err)
					}
				})
			}
		})
	}
}
