package rust_test

import (
	"testing"

	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/rust"
)

func FuzzInterpret(f *testing.F) {
	compiledtest.FuzzInterpret(f, rust.Runtime{},
		"error[E1]: x\n --> /run/yurt/x/main.rs:1:2\nwarning: y\n --> a:1\nerror: aborting due to 2",
		"thread 'main' panicked at 'a\nb', /run/yurt/x/main.rs:1:2\nstack backtrace:\n   6: p::f\n             at ./p.rs:2:58\nnote: x",
		"thread 'm' (1) panicked at p.rs:2:59:\nmsg\nstack backtrace:\n  1: 0x1 - a::h0123456789abcdef\n at /workspace/a.rs:1:1",
		"thread 'm' panicked at ':",
		"thread 'm' panicked at ', ",
		"thread 'm' has overflowed its stack",
		"Error: x\ny",
		"error[]: ",
		"--> a:1",
	)
}

func FuzzPlan(f *testing.F) {
	compiledtest.FuzzPlan(f, rust.Runtime{},
		"#![allow(x)] let a = f()?;",
		"fn main() {}",
		"#![",
		"// fn main()",
	)
}

func TestLargeSnippets(t *testing.T) {
	t.Parallel()
	compiledtest.LargeSnippets(t, rust.Runtime{})
}
