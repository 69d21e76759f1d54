package golang_test

import (
	"testing"

	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/golang"
)

func FuzzInterpret(f *testing.F) {
	compiledtest.FuzzInterpret(f, golang.Runtime{},
		"# m\n./main.go:5:2: x\n\tdetail\ngo: no\n",
		"panic: first [recovered]\n\tpanic: again\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/run/yurt/x/main.go:5\nmain.main()\n\t/workspace/a/b.go:8 +0x185\n\ngoroutine 2 [x]:\n",
		"fatal error: x\n\ngoroutine 1:\n\t",
		"panic: ",
		"created by main.main in goroutine 1\n\t/workspace/a:1",
	)
}

func FuzzPlan(f *testing.F) {
	compiledtest.FuzzPlan(f, golang.Runtime{},
		"x := 1",
		"package main",
		"import \"fmt\"\nfunc (t T) f() {}\nfunc() {}()\nvar x = 1\nfunc main() {}",
		"func main",
		"func (",
		"func(",
	)
}

func TestLargeSnippets(t *testing.T) {
	t.Parallel()
	compiledtest.LargeSnippets(t, golang.Runtime{})
}
