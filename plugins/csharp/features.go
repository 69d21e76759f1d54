package csharp

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yurtrun/yurt/plugins/compiled"
)

// maxHints bounds the hints of one program: each is a line of the compiler's output.
const maxHints = 64

// functionsWithin is the hint for a line that looks like a function within a function. It applies
// only where the compiler reports an error of syntax.
const functionsWithin = "functions within functions are C# 7"

// hintPrefix starts a line that names a feature which Mono's compiler lacks.
const hintPrefix = "hint: "

// feature is a part of the language, or of its library, that Mono does not have.
type feature struct {
	pattern *regexp.Regexp // in code without comments and strings
	says    string         // such as "records are C# 9"
}

// features lists the features of C# that Mono's compiler refuses with a message that does not name them.
func features() []feature {
	var list []feature
	for _, f := range [][2]string{
		{`\brecord\s+(?:class\s+|struct\s+)?[A-Z]\w*\s*(?:<[^>]*>)?\s*[({:;]`, "records are C# 9"},
		{`[\w)\]]\s+switch\s*(?:\{|$)`, "switch expressions are C# 8"},
		{`\[\s*\^\s*\w|\[[^\[\]]*\.\.[^\[\]]*\]`, "indices from the end and ranges are C# 8"},
		{`^\s*#\s*nullable\b`, "nullable reference types are C# 8"},
		{`\b(?:string|object|dynamic)\?|\w>\?\s+\w|\w\s*!\s*[;.)]`, "nullable reference types are C# 8"},
		{`\busing\s+(?:var|[A-Z]\w*(?:<[^>]*>)?)\s+\w+\s*=\s*[^;]*`, "using declarations are C# 8"},
		{`\?\?=`, "the operator ??= is C# 8"},
		{`\bawait\s+foreach\b|\bIAsyncEnumerable\b`, "asynchronous streams are C# 8"},
		{`\bis\s+(?:\w+\s*)?\{`, "property patterns are C# 8"},
		{`^\s*case\s+(?:[\w.<>\[\]]+\s+\w+|.*\bwhen\b.*)\s*(?::|when\b)`, "patterns in switch statements are C# 7"},
		{`\binterface\b.*\)\s*=>`, "default members of interfaces are C# 8"},
		{`\bis\s+(?:not\b|[<>])|\b(?:and|or)\s+(?:[<>]|not\b|\w+\s*=>)`, "combined and relational patterns are C# 9"},
		{`=\s*new\s*\(`, "new without a type is C# 9"},
		{`\bnew\s*\(\s*\)`, "new without a type is C# 9"},
		{`\binit\s*;`, "init accessors are C# 9"},
		{`\bwith\s*\{`, "with expressions are C# 9"},
		{`^\s*namespace\s+[\w.]+\s*;`, "file-scoped namespaces are C# 10"},
		{`^\s*global\s+using\b`, "global using directives are C# 10"},
		{`\bvar\s+\w+\s*=\s*(?:async\s*)?\([^()]*\)\s*=>`, "lambda expressions with a type of their own are C# 10"},
		{`\brequired\s+\w`, "required members are C# 11"},
		{`\b(?:class|struct)\s+\w+(?:<[^>]*>)?\s*\([^()]*\)`, "primary constructors are C# 12"},
		{`=\s*\[`, "collection expressions are C# 12"},
		{`\bSystem\.Text\.Json\b|\bJsonSerializer\b`, "System.Text.Json is a library of .NET"},
		{`\.(?:Chunk|MaxBy|MinBy|DistinctBy|TakeLast|SkipLast|Order|Index|AggregateBy|CountBy)\s*\(`, "this method came with .NET after 4.8"},
		{`^\s*(?:static\s+|async\s+)*[\w<>\[\],.?]+\s+\w+\s*(?:<[\w,\s]+>)?\([^;]*\)\s*(?:=>|\{|$)`, functionsWithin},
	} {
		list = append(list, feature{regexp.MustCompile(f[0]), f[1]})
	}
	return list
}

// hintsOf names the features in a source that Mono lacks, as lines for mono.sh to print.
func hintsOf(name, code string) []string {
	blank := strings.Split(compiled.Blank(code, compiled.Dialect{Verbatim: true}), "\n")
	var hints []string
	found := features()
	for i, line := range strings.Split(code, "\n") {
		if len(hints) >= maxHints {
			break
		}
		if strings.Contains(line, `"""`) {
			hints = append(hints, hint(name, i+1, "raw strings are C# 11"))
			continue
		}
		if len(line) > 1000 || i >= len(blank) {
			continue
		}
		for _, f := range found {
			if f.pattern.MatchString(blank[i]) {
				hints = append(hints, hint(name, i+1, f.says))
				break
			}
		}
	}
	return hints
}

func hint(name string, line int, says string) string {
	return fmt.Sprintf("%s%s(%d): %s; this sandbox has Mono's mcs, which knows C# 6 and parts of C# 7: write it without, or use a .NET SDK", hintPrefix, name, line, says)
}

// hintFor returns the hint for the line of a diagnostic, or for the one before it, of which the
// compiler sometimes notices the end alone; "" without a hint.
func hintFor(lines []string, list []compiled.Diagnostic) string {
	for _, d := range list {
		file := d.File[strings.LastIndexByte(d.File, '/')+1:]
		for _, line := range []int{d.Line, d.Line - 1} {
			for _, text := range lines {
				says, ok := strings.CutPrefix(text, fmt.Sprintf("%s%s(%d): ", hintPrefix, file, line))
				if ok && (!strings.HasPrefix(says, functionsWithin) || strings.HasSuffix(d.Message, "[CS1525]")) {
					return says
				}
			}
		}
	}
	return ""
}
