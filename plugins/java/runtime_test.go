package java_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/java"
)

func TestSnippets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ code, stdin, want string }{
		"program":         {"public class Hello {\n  public static void main(String[] a) { System.out.println(\"hello\"); }\n}\n", "", "hello\n"},
		"several classes": {"class A { int f() { return 1; } }\nrecord B(int x) {}\nclass C { public static void main(String... a) { System.out.println(new A().f() + new B(2).x()); } }\n", "", "3\n"},
		"package":         {"package a.b;\n\npublic class C { public static void main(String[] a) { System.out.println(C.class); } }\n", "", "class a.b.C\n"},
		"statements": {
			"// a snippet; of several {\nimport java.util.*;\nrecord P(int x) {}\nvar l = List.of(new P(1), new P(2));\nfor (var p : l) { System.out.println(p.x()); }\nSystem.out.println(\"\"\"\n  }}\"\"\");\n", "", "1\n2\n}}\n",
		},
		"methods": {"static int twice(int x) { return 2 * x; }\n\npublic static void main(String[] args) {\n  System.out.println(twice(4));\n}\n", "", "8\n"},
		"arguments and stdin": {
			"import java.util.Scanner;\nSystem.out.println(String.join(\",\", args) + \" \" + new Scanner(System.in).nextLine());", "grüße", "-x,a b grüße\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, java.Runtime{}, compiledtest.Snippet(tt.code, "-x", "a b"), tt.stdin)
			if out.Stdout != tt.want || out.Code != 0 {
				t.Errorf("exit code %d, stdout %q, want %q\n%s", out.Code, out.Stdout, tt.want, out.Stderr)
			}
		})
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]plugins.PlanRequest{
		"flat": compiledtest.Project("Main.java", map[string]string{
			"Main.java":  "public class Main { public static void main(String[] a) { System.out.println(Greet.hello()); } }\n",
			"Greet.java": "class Greet { static String hello() { return \"hello\"; } }\n",
		}),
		"packages": compiledtest.Project("src/app/Main.java", map[string]string{
			"src/app/Main.java": "package app;\nimport lib.Greet;\npublic class Main { public static void main(String[] a) throws Exception {\n" +
				"  System.out.println(new String(Main.class.getResourceAsStream(\"/text\").readAllBytes()).trim() + Greet.hello()); } }\n",
			"src/lib/Greet.java": "package lib;\npublic class Greet { public static String hello() { return \"llo\"; } }\n",
			"src/text":           "he\n",
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, java.Runtime{}, req, "")
			if out.Stdout != "hello\n" || out.Code != 0 {
				t.Errorf("exit code %d, stdout %q\n%s", out.Code, out.Stdout, out.Stderr)
			}
		})
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
			"int x = 1;\n\nx = \"a\";\nfoo();\n", 1, yurt.ErrorTypeCompile, "Main.java:3:5: incompatible types: String cannot be converted to int (and 1 more)",
			[]string{"Main.java:3:5: incompatible types: String cannot be converted to int", "Main.java:4:1: cannot find symbol: method foo()"},
		},
		"syntax error": {"public class A { void f() {\n  int x = 1\n} }\n", 1, yurt.ErrorTypeCompile, "A.java:2:12: ';' expected", nil},
		"exception": {
			"class My extends RuntimeException { My(Throwable c) { super(\"bad\\nthing\", c); } }\npublic class A {\n  static void f() { throw new IllegalStateException(\"inner\"); }\n" +
				"  public static void main(String[] a) {\n    try { f(); } catch (Exception e) { throw new My(e); }\n  }\n}\n",
			1, "My", "bad\nthing",
			[]string{"A.f(A.java:3)", "Caused by: java.lang.IllegalStateException: inner", "A.main(A.java:5)"},
		},
		"message with quotes": {
			"String s = null;\ns.length();\n", 1, "java.lang.NullPointerException", "Cannot invoke \"String.length()\" because \"s\" is null", []string{"Main.main(Main.java:2)"},
		},
		"name with quotes": {
			"Thread.currentThread().setName(\"a\\\" b c\");\nthrow new Error(\"x: \\\" y\");\n", 1, "java.lang.Error", "x: \" y", []string{"Main.main(Main.java:2)"},
		},
		"stack overflow": { // 1024 frames come after the type of the error
			"static int aFunctionOfALongNameThatCallsItselfWithoutAnEndInSight(int n) { return aFunctionOfALongNameThatCallsItselfWithoutAnEndInSight(n + 1) + 1; }\n" +
				"public static void main(String[] args) { aFunctionOfALongNameThatCallsItselfWithoutAnEndInSight(0); }\n",
			1, "java.lang.StackOverflowError", "", nil,
		},
		"in a library": {
			"java.util.List.of(1).forEach(i -> { Integer.parseInt(\"x\" + i); });\n", 1, "java.lang.NumberFormatException", "For input string: \"x1\"",
			[]string{"Main.main(Main.java:1)", "Main.lambda$main$0(Main.java:1)"},
		},
		"no main":       {"public class A {}\n", 1, "Error", "Main method not found in class A, please define the main method as:\n   public static void main(String[] args)\nor a JavaFX application class must extend javafx.application.Application", nil},
		"out of memory": {"var l = new java.util.ArrayList<byte[]>();\nwhile (true) { l.add(new byte[100 << 20]); }\n", 1, "java.lang.OutOfMemoryError", "Java heap space", []string{"Main.main(Main.java:2)"}},
		"exit code":     {"System.exit(7);\n", 7, "", "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, java.Runtime{}, compiledtest.Snippet(tt.code), "")
			out.Check(t, tt.exit, tt.kind, tt.text, tt.stack)
		})
	}
}
