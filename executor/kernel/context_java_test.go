package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func java(s *yurt.ExecutionSpec) { s.Language = "java" }

// ofJava makes a sandbox that has room for a virtual machine.
func ofJava(s *yurt.SandboxSpec) {
	s.Template.Runtimes = []string{"java"}
	s.Resources.Memory, s.Resources.PIDs = 1<<30, 512
}

func TestJavaState(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, ofJava)
	n.want("", "int x = 20;\nint twice(int n) { return 2 * n; }\nrecord P(int a) {}", java)
	n.want("P[a=42]\n", "System.out.println(new P(twice(x) + 2));", java)
	for code, want := range map[string]string{`x * 2`: "40", `"a\"" + x`: `"a\"20"`, `x > 3`: "true", `x / 8.0`: "2.5", `x * 2;`: "40", `Integer.parseInt("3");`: "null", `List.of(x)`: "null"} {
		if r := n.run(code, java); r.ExitCode != 0 || string(r.Result) != want {
			t.Errorf("%s is %s, want %s (%+v)", code, r.Result, want, r.Error)
		}
	}
	r := n.run("List.of(x)", java)
	if r.MainDisplay == nil || string(r.Displays[*r.MainDisplay]["text/plain"]) != `"[20]"` {
		t.Errorf("the value of a list is shown as %v, want [20]", r.Displays)
	}
	n.want("120\n", "package a.b;\npublic class Main {\n  static int f(int n) { return n < 2 ? 1 : n * f(n - 1); }\n  public static void main(String[] args) { System.out.println(f(5)); }\n}", java)
	n.want("hi v v\n", `System.out.println(new Scanner(System.in).nextLine() + " " + System.getenv("A") + " " + System.getProperty("A"));`, java, func(s *yurt.ExecutionSpec) {
		s.Stdin, s.Env = []byte("hi\n"), map[string]string{"A": "v"}
	})
	n.want("null null\n", `System.out.println(System.getenv("A") + " " + System.getProperty("A"));`, java)
}

func TestJavaErrors(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, ofJava)
	for _, tt := range []struct {
		code, kind, message, stdout string
		stack                       []string
	}{
		{"System.out.println(1);\nint y = 1\nz = ;", yurt.ErrorTypeCompile, "<cell 1>:2:10: ';' expected", "", nil},
		{"System.out.println(1);\n\nfoo(3);", yurt.ErrorTypeCompile, "<cell 2>:3:1: cannot find symbol: method foo(int)", "1\n", nil},
		{"int f(int n) {\n  return 10 / n;\n}\n\nf(0);", "java.lang.ArithmeticException", "/ by zero", "", []string{"(<cell 3>:5)", "f(<cell 3>:2)"}},
		{"class My extends Exception { My(String s) { super(s); } }\nthrow new My(\"bad\");", "My", "bad", "", []string{"(<cell 4>:2)"}},
		{"/exit", yurt.ErrorTypeCompile, "commands of jshell, such as /exit, are not supported in a context", "", nil},
	} {
		r := n.run(tt.code, java)
		if r.Error == nil || r.Error.Type != tt.kind || r.Error.Message != tt.message || r.Stdout != tt.stdout || r.ExitCode != 1 {
			t.Errorf("%s\nfailed with %+v, exit code %d, stdout %q; want %s: %s, exit code 1, stdout %q", tt.code, r.Error, r.ExitCode, r.Stdout, tt.kind, tt.message, tt.stdout)
			continue
		}
		if tt.stack != nil && !slices.Equal(r.Error.Stacktrace, tt.stack) {
			t.Errorf("%s\nhas the stack %q, want %q", tt.code, r.Error.Stacktrace, tt.stack)
		}
	}
	r := n.run("int g() { return later; }", java)
	if r.Error != nil || !strings.Contains(r.Stderr, "g cannot be used until this is declared: variable later") {
		t.Errorf("a method that uses a name which is not there: %+v, stderr %q, want no error and a note", r.Error, r.Stderr)
	}
	n.want("7\n", "int later = 7;\nSystem.out.println(g());", java)
}
