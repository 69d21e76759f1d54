package cfamily_test

import (
	"testing"

	"github.com/yurtrun/yurt/plugins/cfamily"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
)

func FuzzInterpret(f *testing.F) {
	compiledtest.FuzzInterpret(f, cfamily.C(),
		"a.c:1:2: error: x\na.c:1:2: warning: y\n/usr/bin/ld: a.o: in function `m':\na.c:(.text+0x5): undefined reference to `f'",
		"terminate called after throwing an instance of 'int'",
		"terminate called after throwing an instance of 'std::x'\n  what():  a\nb",
		"m: a.c:5: main: Assertion `c==7' failed.",
		"*** stack smashing detected ***: terminated",
		": Assertion `' failed.",
		"a: Assertion `' failed.",
	)
}

func FuzzPlan(f *testing.F) {
	compiledtest.FuzzPlan(f, cfamily.C(),
		"int x = 1;",
		"#include <a>\nint f() { }\nstruct s { } a; typedef struct { } t;",
		"int main",
		"\\\n#",
	)
}

func TestLargeSnippets(t *testing.T) {
	t.Parallel()
	compiledtest.LargeSnippets(t, cfamily.C())
}
