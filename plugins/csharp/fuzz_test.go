package csharp_test

import (
	"testing"

	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/csharp"
)

func FuzzInterpret(f *testing.F) {
	compiledtest.FuzzInterpret(f, csharp.Runtime{},
		"a.cs(1,2): error CS1: x\nerror CS2: y\n(,): error CS3: z",
		"[ERROR] FATAL UNHANDLED EXCEPTION: A: b\nc ---> D: e\n  at P.F () [0x0] in /run/yurt/x/main.cs:4 \n  at Q () in <a>:0",
		"[ERROR] FATAL UNHANDLED EXCEPTION: ",
		"  at  in :1",
	)
}

func FuzzPlan(f *testing.F) {
	compiledtest.FuzzPlan(f, csharp.Runtime{},
		"int x = 1;",
		"using A; class B { } static int f() { }",
		"static void Main() {}",
		"delegate",
	)
}

func TestLargeSnippets(t *testing.T) {
	t.Parallel()
	compiledtest.LargeSnippets(t, csharp.Runtime{})
}
