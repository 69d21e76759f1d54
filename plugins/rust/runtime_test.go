package rust_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/rust"
)

func TestSnippets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ code, stdin, want string }{
		"program":    {"fn main() { println!(\"hello\"); }\n", "", "hello\n"},
		"statements": {"#![allow(unused)]\nuse std::collections::HashMap;\nstruct T<'a>(&'a str);\nfn f(t: &T) -> usize { t.0.len() }\nlet m: HashMap<char, i32> = [('a', 1), ('\\'', 2)].into();\nprintln!(\"{} {} fn main() {{\", f(&T(r#\"ab\"c\"#)), m[&'a']);", "", "4 1 fn main() {\n"},
		"question mark": {
			"use std::io::Read;\nlet mut s = String::new();\nstd::io::stdin().read_to_string(&mut s)?;\nlet a: Vec<String> = std::env::args().skip(1).collect();\nprintln!(\"{:?} {}\", a, s)", "grüße", "[\"-x\", \"a b\"] grüße\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, rust.Runtime{}, compiledtest.Snippet(tt.code, "-x", "a b"), tt.stdin)
			if out.Stdout != tt.want || out.Code != 0 {
				t.Errorf("exit code %d, stdout %q, want %q\n%s", out.Code, out.Stdout, tt.want, out.Stderr)
			}
		})
	}
}

func TestProject(t *testing.T) {
	t.Parallel()
	out := compiledtest.NewHost(t).Run(t, rust.Runtime{}, compiledtest.Project("src/main.rs", map[string]string{
		"src/main.rs":        "mod greet;\nfn main() { println!(\"{}\", greet::hello(\"Rüst\")); }\n",
		"src/greet/mod.rs":   "mod inner;\npub fn hello(s: &str) -> String { inner::join(\"hello\", s) }\n",
		"src/greet/inner.rs": "pub fn join(a: &str, b: &str) -> String { format!(\"{a} {b}\") }\n",
	}), "")
	if out.Stdout != "hello Rüst\n" || out.Code != 0 {
		t.Errorf("exit code %d, stdout %q\n%s", out.Code, out.Stdout, out.Stderr)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code       string
		exit       int
		kind, text string
		stack      []string
	}{
		"compile error": {
			"let x: i32 = \"a\";\nprintln!(\"{}\", y);\n", 1, yurt.ErrorTypeCompile, "main.rs:2:16: cannot find value `y` in this scope [E0425] (and 1 more)",
			[]string{"main.rs:2:16: cannot find value `y` in this scope [E0425]", "main.rs:1:25: mismatched types [E0308]"},
		},
		"syntax error": {"fn main() {\n    let = 1;\n}\n", 1, yurt.ErrorTypeCompile, "main.rs:2:9: expected pattern, found `=`", nil},
		"panic": {
			"fn f(i: usize) -> i32 { let a = vec![1]; a[i] }\nfn main() {\n    f(5);\n}\n", 101, "panic", "index out of bounds: the len is 1 but the index is 5",
			[]string{"main::main (main.rs:3:5)", "main::f (main.rs:1:42)"},
		},
		"message of two lines": {
			"fn main() {\n    panic!(\"one\\ntwo\");\n}\n", 101, "panic", "one\ntwo", []string{"main::main (main.rs:2:5)"},
		},
		"main returns an error": {"\n\"x\".parse::<i32>()?;", 1, "Error", "ParseIntError { kind: InvalidDigit }", []string{}},
		"exit code":             {"std::process::exit(7);\n", 7, "", "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, rust.Runtime{}, compiledtest.Snippet(tt.code), "")
			out.Check(t, tt.exit, tt.kind, tt.text, tt.stack)
		})
	}
}
