package hcl

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// attack is a source that would take all memory, stack or time without bounds.
type attack struct {
	name, src string
	want      string // summary of the first problem; "" for none
}

// chained defines locals, each from the one before, which step calls X.
func chained(first, step string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "locals {\n  l0 = %s\n", first)
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&b, "  l%d = %s\n", i, strings.ReplaceAll(step, "X", fmt.Sprintf("local.l%d", i-1)))
	}
	b.WriteString("}\n")
	return b.String()
}

func local(expr string) string { return "locals {\n  a = " + expr + "\n}\n" }

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func attacks() []attack {
	const tooDeep, tooLong, tooMuch, tooBig = "Nested too deeply", "Expression too long", "Expression too large", "Source too large"
	repeat := strings.Repeat
	return []attack{
		{"brackets", local(repeat("[", 100_000)), tooDeep},
		{"parentheses", local(repeat("(", 100_000)), tooDeep},
		{"braces", local(repeat("{a=", 50_000)), tooDeep},
		{"blocks", repeat("a {\n", 50_000), tooDeep},
		{"interpolations", local(repeat(`"${`, 50_000)), tooDeep},
		{"heredoc", "a = <<E\n" + repeat("${[", 50_000), tooDeep},
		{"as deep as allowed", local(repeat("[", MaxNesting-1) + repeat("]", MaxNesting-1)), ""},
		{"one deeper", local(repeat("[", MaxNesting) + repeat("]", MaxNesting)), tooDeep},
		{"operators", local(repeat("1+", 100_000) + "1"), tooLong},
		{"signs", local(repeat("-", 100_000) + "1"), tooLong},
		{"signs as long as allowed", local(repeat("-", MaxExpressionTokens-1) + "1"), ""},
		{"conditions", local(repeat("true?1:", 30_000) + "1"), tooLong},
		{"indexes", local("[1]" + repeat("[0]", 50_000)), tooLong},
		{"directives", local(`"` + repeat("%{if true}", 20_000) + `"`), tooLong},
		{"hidden by a closer of another kind", local("[ )\n ] " + repeat("+1", 100_000)), tooLong},
		{"lines", repeat("a\n", 400_000), tooBig},
		{"bytes", repeat("#", MaxSourceBytes+1), tooBig},
		{"as many bytes as allowed", repeat("#", MaxSourceBytes), ""},
		{"text", local(`"` + repeat("x", MaxTextBytes+1) + `"`), "Text too long"},
		{"digits", local(repeat("1", MaxNumberBytes+1)), "Number too large"},
		{"exponent", local("1e999999999"), "Number too large"},
		{"templates", lines(MaxTemplates+1, "template \"t%d\" {}\n"), "Too many templates"},
		{"variables", lines(MaxVariables+1, "variable \"v%d\" {\n  default = 1\n}\n"), "Too many variables"},
		{"locals", "locals {\n" + lines(MaxLocals+1, "  l%d = 1\n") + "}\n", "Too many locals"},
		{"doubled lists", chained("[1, 1]", "[X, X]"), tooMuch},
		{"doubled text", chained(`"aaaaaaaa"`, `"${X}${X}"`), tooMuch},
		{"doubled by concat", chained("[1, 1]", "concat(X, X)"), tooMuch},
		{"doubled types without values", chained("{ a = 1 }", "[false ? { a = [X, X] } : null]"), tooMuch},
		{"squared by replace", chained(`"aaaaaaaa"`, `replace(X, "a", X)`), tooMuch},
		{"squared by join", chained(`"aaaaaaaa"`, `join(X, range(100))`), tooMuch},
		{"squared by formatlist", chained(`"%%s%%s"`, `join("", formatlist(X, range(100)))`), "Error in function call"},
		{"squared numbers", chained("1e99", "X * X"), tooMuch},
		{"loops in loops", local("[for x in range(1000) : [for y in range(1000) : [for z in range(1000) : 1]]]"), tooMuch},
		{"loops in conditions of loops", local("[for x in range(1000) : x if length([for y in range(1000) : y if length([for z in range(1000) : z]) > 0]) > 0]"), tooMuch},
		{"loops in keys of loops", local("{ for x in range(1000) : join(\"\", [for y in range(1000) : join(\"\", [for z in range(1000) : z])]) => 1 }"), tooMuch},
		{"loops in text", local(`"%{for x in range(1000)}%{for y in range(1000)}%{for z in range(1000)}abcdefgh%{endfor}%{endfor}%{endfor}"`), tooMuch},
		{"long text in loops", local(`[for x in range(1000) : [for y in range(1000) : "${x}` + repeat("x", 10_000) + `"]]`), tooMuch},
		{"wide format", local(`format("%999999999s", "a")`), tooMuch},
		{"number in text formatted", local(`format("%d", "1e600000000")`), tooMuch},
		{"numbers in texts formatted", local(`formatlist("%d", ["1e600000000"])`), tooMuch},
		{"number in text multiplied", local(`"${"1e600000000" * 1}"`), tooMuch},
		{"number in text negated", local(`"${-"1e600000000"}"`), tooMuch},
		{"number in text divided", local(`"1e600000000" % 3`), tooMuch},
		{"number in text converted", local(`"${tonumber("1e600000000")}"`), tooMuch},
		{"number in JSON", local(`"${jsondecode("1e600000000")}"`), tooMuch},
		{"number in a variable", "variable \"v\" {\n  type = number\n  default = \"1e600000000\"\n}\n" + local(`"${var.v}"`), tooMuch},
		{"number in text as a value", "template \"t\" {\n  resources {\n    memory = \"1e600000000\"\n    cpu = \"1e600000000\"\n    pids = \"1e600000000\"\n  }\n}\n", "Value out of range"},
		{"number in text as an index", local(`[1]["1e600000000"]`), tooMuch},
		{"number in text as a computed index", local(`[1]["${"1e60"}0000000"]`), tooMuch},
		{"number in text as an index of a local", "locals {\n  a = [1]\n  b = local.a[\"1e600000000\"]\n}\n", tooMuch},
		{"number in text as a key", local(`{ a = 1 }["1e600000000"]`), tooMuch},
		{"number in text as a count", local(`range("1e600000000")`), tooMuch},
		{"number in text as a width", local(`substr("abc", 0, "1e600000000")`), tooMuch},
		{"comparisons of all with all", "locals {\n  a = [for i in range(1000) : i]\n  b = distinct(concat(" + repeat("local.a, ", 20) + "local.a))\n}\n", tooMuch},
		{"long lists", lines(60, "locals {\n  a%d = tolist(["+repeat("1,", 1500)+"])\n}\n"), tooMuch},
		{"trimming", local(`trim("` + repeat("é", 50_000) + `", "` + repeat("è", 50_000) + `é")`), tooMuch},
		{"digits in text", "locals {\n" + lines(7, "  a%d = \""+repeat("9", 100_000)+"\" + 0\n") + "}\n", tooMuch},
		{"chain of locals", "locals {\n" + lines(1000, "  a%[1]d = local.a%[1]d0\n") + "}\n", "Unknown local"},
		{"problems", "template \"t\" {\n" + lines(20_000, "  x%d = 1\n") + "}\n", "Unknown attribute"},
		{"long problem lines", "template \"t\" {\n" + lines(60, "  x%d = 1 # "+repeat("x", 10_000)+"\n") + "}\n", "Unknown attribute"},
		{"templates that extend", lines(MaxTemplates-1, "template \"t%[1]d\" {\n  extends = \"t${%[1]d + 1}\"\n}\n"), "Unknown template"},
	}
}

// TestAttacks: each ends soon, and its error names the exceeded bound.
func TestAttacks(t *testing.T) {
	for _, a := range attacks() {
		if testing.Short() && len(a.src) > 1<<16 {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse("attack.hcl", []byte(a.src))
			// The slowest takes less than a second on an idle machine. Without a bound they would
			// never end.
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			got := ""
			var e *Error
			if errors.As(err, &e) {
				got = e.Diagnostics[0].Summary
				checkError(t, err)
			}
			if got != a.want {
				t.Errorf("the first problem is %q, want %q: %v", got, a.want, err)
			}
			if len(a.src) < MaxSourceBytes {
				_, err = Format([]byte(a.src))
				if err != nil {
					checkError(t, err)
				}
			}
		})
	}
}

// TestAttackThroughVariable: values for variables are bounded like sources.
func TestAttackThroughVariable(t *testing.T) {
	src := []byte("variable \"v\" {\n  type = list(any)\n}\n")
	for _, value := range []string{
		strings.Repeat("[", 500_000),
		strings.Repeat("-", 500_000) + "1",
		"[for x in [1, 2] : [for y in [1, 2] : " + strings.Repeat("[for z in [1,2,3,4] : ", 20) + "1" + strings.Repeat("]", 22),
		"not [closed",
		"",
	} {
		parser := Parser{Variables: map[string]string{"v": value}}
		_, err := parser.Parse(Source{Name: "v.hcl", Text: src})
		var e *Error
		if !errors.As(err, &e) || e.Diagnostics[0].Summary != "Invalid value" {
			t.Errorf("%.40q gave %v", value, err)
		}
	}
}

// TestProblemsAreCut: the number of reported problems is bounded.
func TestProblemsAreCut(t *testing.T) {
	_, err := Parse("many.hcl", []byte("template \"t\" {\n"+lines(MaxDiagnostics+7, "  x%d = 1\n")+"}\n"))
	var e *Error
	if !errors.As(err, &e) || len(e.Diagnostics) != MaxDiagnostics || e.Omitted != 7 {
		t.Fatalf("got %v", err)
	}
	if !strings.HasSuffix(err.Error(), "and 7 more problems, not shown.\n") {
		t.Errorf("the text does not say how many are missing: …%s", err.Error()[len(err.Error())-80:])
	}
}
