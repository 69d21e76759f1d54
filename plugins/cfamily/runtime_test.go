package cfamily_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/cfamily"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
)

func TestSnippets(t *testing.T) {
	t.Parallel()
	c, cpp := cfamily.C(), cfamily.CPP()
	tests := map[string]struct {
		runtime           plugins.Runtime
		code, stdin, want string
	}{
		"C program": {c, "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n", "", "hello\n"},
		"C statements": {
			c, "#define TWO 2\nstruct p { int x; };\nstatic const int k = 3;\nint twice(struct p v) { return TWO * v.x; }\nstruct p a = {k};\nfor (int i = 0; i < 2; i++) {\n  printf(\"%d \\\"}\\\" %c\\n\", twice(a) + i, '{');\n}\nif (a.x == 3) { puts(\"if\"); } else { puts(\"else\"); }\n", "",
			"6 \"}\" {\n7 \"}\" {\nif\n",
		},
		"C arguments and stdin": {c, "char s[20]; scanf(\"%19s\", s); printf(\"%d %s %s\", argc, argv[2], s);", "grüße", "3 a b grüße"},
		"C++ program":           {cpp, "#include <iostream>\nint main() { std::cout << \"hello\\n\"; }\n", "", "hello\n"},
		"C++ statements": {
			cpp, "using namespace std;\ntemplate <typename T> T twice(T v) { return v + v; }\nclass P {\npublic:\n  int x = 1'000;\n};\nauto f = [](int i) { return i + 1; };\nvector<string> v{\"a\", R\"(}\")\"};\nfor (auto &s : v) cout << twice(s) << f(P{}.x) << endl;\n", "",
			"aa1001\n}\"}\"1001\n",
		},
		"C++ headers that it names": {
			cpp, "std::vector<int> v{1, 2, 3};\nstd::jthread t([] { std::cout << \"a\"; });\nt.join();\nfor (int i : v | std::views::reverse) std::cout << i;\nstd::queue<int> q;\nstd::cout << q.size() << std::ostringstream{\"b\"}.str();", "",
			"a3210b",
		},
		"C++ names of its own": {
			cpp, "using namespace std;\nstruct stack { int thread = 4; };\nstatic stack list; // not std::list, nor std::stack\ncout << list.thread << \"std::stack\";", "",
			"4std::stack",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, tt.runtime, compiledtest.Snippet(tt.code, "-x", "a b"), tt.stdin)
			if out.Stdout != tt.want || out.Code != 0 {
				t.Errorf("exit code %d, stdout %q, want %q\n%s", out.Code, out.Stdout, tt.want, out.Stderr)
			}
		})
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		runtime plugins.Runtime
		req     plugins.PlanRequest
	}{
		"C": {cfamily.C(), compiledtest.Project("main.c", map[string]string{
			"main.c": "#include <stdio.h>\n#include \"hello.h\"\nint main(void) { puts(hello()); }\n", "src/hello.c": "#include <hello.h>\nconst char *hello(void) { return \"hello\"; }\n",
			"include/hello.h": "const char *hello(void);\n", "README": "",
		})},
		"C++": {cfamily.CPP(), compiledtest.Project("app/-main.cc", map[string]string{
			"app/-main.cc": "#include <iostream>\n#include \"lib/hello.h\"\nint main() { std::cout << hello() << \"\\n\"; }\n", "-lib.cpp": "#include \"lib/hello.h\"\nstd::string hello() { return \"hello\"; }\n",
			"lib/hello.h": "#include <string>\nstd::string hello();\n",
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, tt.runtime, tt.req, "")
			if out.Stdout != "hello\n" || out.Code != 0 {
				t.Errorf("exit code %d, stdout %q\n%s", out.Code, out.Stdout, out.Stderr)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	c, cpp := cfamily.C(), cfamily.CPP()
	tests := map[string]struct {
		runtime    plugins.Runtime
		code       string
		exit       int
		kind, text string
		stack      []string
	}{
		"C compile error": {
			c, "int x = 1;\n  x = y;\nreturn z\n", 1, yurt.ErrorTypeCompile, "main.c:2:7: ‘y’ undeclared (first use in this function) (and 2 more)",
			[]string{"main.c:2:7: ‘y’ undeclared (first use in this function)", "main.c:3:8: ‘z’ undeclared (first use in this function)", "main.c:3:9: expected ‘;’ before ‘return’"},
		},
		"C missing header": {c, "#include \"nope.h\"\n", 1, yurt.ErrorTypeCompile, "main.c:1:10: nope.h: No such file or directory", nil},
		"C linker":         {c, "void f(void);\nint main(void) { f(); }\n", 1, yurt.ErrorTypeCompile, "main.c: undefined reference to `f'", nil},
		"C assertion":      {c, "#include <assert.h>\nint main(void) {\n  assert(1 > 2);\n}\n", -1, "Assertion", "1 > 2", []string{"main (main.c:3)"}},
		"C exit code":      {c, "exit(7);\n", 7, "", "", nil},
		"C++ compile error": {
			cpp, "std::strin x;\n", 1, yurt.ErrorTypeCompile, "main.cpp:1:6: ‘strin’ is not a member of ‘std’; did you mean ‘string’?", nil,
		},
		"C++ exception": {cpp, "throw std::runtime_error(\"bad\\nthing\");\n", -1, "std::runtime_error", "bad\nthing", []string{}},
		"C++ number":    {cpp, "throw 5;\n", -1, "int", "it was thrown and not caught", []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, tt.runtime, compiledtest.Snippet(tt.code), "")
			out.Check(t, tt.exit, tt.kind, tt.text, tt.stack)
		})
	}
}
