package java_test

import (
	"testing"

	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/java"
)

func FuzzInterpret(f *testing.F) {
	compiledtest.FuzzInterpret(f, java.Runtime{},
		"A.java:1: error: x\n  a\n  ^\n  symbol: y\n",
		"Exception in thread \"main\" a.B: c\nd\n\tat A.f(A.java:1)\nCaused by: x\n\tat java.base/a.b(C.java:1)\n\t... 1 more",
		"Exception in thread \"",
		"Exception in thread \"a\" ",
		"Error: x",
		"error: y\n  symbol: z",
	)
}

func FuzzPlan(f *testing.F) {
	compiledtest.FuzzPlan(f, java.Runtime{},
		"int x = 1;",
		"package a.b; import c; public class D { void main(); }",
		"package",
		"package ;",
		"record",
		"static void main() { }",
		"class",
	)
}

func TestLargeSnippets(t *testing.T) {
	t.Parallel()
	compiledtest.LargeSnippets(t, java.Runtime{})
}
