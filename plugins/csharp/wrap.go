package csharp

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yurtrun/yurt/plugins/compiled"
)

// snippet is the file of a snippet.
const snippet = "main.cs"

// usual are the using directives that a snippet need not write. A snippet that repeats one gets no
// warning, as warnings are off. [httpSymbol] is defined where that assembly is.
const usual = "using System; using System.Collections.Generic; using System.IO; using System.Linq; " +
	"using System.Text; using System.Threading; using System.Threading.Tasks;\n" +
	"#if " + httpSymbol + "\nusing System.Net.Http;\n#endif\n"

const httpSymbol = "SYSTEM_NET_HTTP"

// wrap makes a program of a snippet, which may have a Main method. What the compiler says has the
// lines of the snippet.
func wrap(code string) string {
	blank := compiled.Blank(code, compiled.Dialect{Verbatim: true})
	if compiled.HasFunction(blank, "Main") {
		first := fmt.Sprintf("#line 1 %q\n", snippet)
		if mustBeFirst(blank) {
			return first + code
		}
		return usual + first + code
	}
	var usings, types, methods, body strings.Builder
	var async, result bool
	at := 0
	for _, piece := range (compiled.Splitter{}).Split(code, blank) {
		to, text := &body, blank[at:at+len(piece.Text)]
		at += len(piece.Text)
		switch {
		case piece.Is("using") && !strings.Contains(piece.Head, "("):
			to = &usings
		case declaresType(piece):
			to = &types
		case piece.Is("static") && piece.DefinesFunction():
			to = &methods
		default:
			async = async || awaits.MatchString(text)
			result = result || returns.MatchString(text) && !piece.DefinesFunction() && !functions.MatchString(text)
		}
		fmt.Fprintf(to, "#line %d \"%s\"\n%s\n", piece.Line, snippet, piece.Indented())
	}
	return usual + usings.String() + types.String() + "static class Program {\n" + methods.String() +
		mainOf(body.String(), async, result) + "}\n"
}

// mainOf is the main method of statements, which may wait for tasks and give the exit code.
func mainOf(body string, async, result bool) string {
	switch {
	case async && result:
		return "static async Task<int> Main(string[] args) {\n" + body + "return 0;\n}"
	case async:
		return "static async Task Main(string[] args) {\n" + body + "}"
	case result:
		return "static int Main(string[] args) {\n" + body + "return 0;\n}"
	default:
		return "static void Main(string[] args) {\n" + body + "}"
	}
}

// These find, in statements without comments and literals, what their main method has to be.
var (
	awaits    = regexp.MustCompile(`\bawait\b`)
	returns   = regexp.MustCompile(`\breturn\s*[^;\s]`)
	functions = regexp.MustCompile(`=>|\bdelegate\b`)
)

// newType finds the declaration of a type by a word that may be a name too.
var newType = regexp.MustCompile(`\brecord\s+(?:class\s+|struct\s+)?\w+\s*(?:<[^>]*>)?\s*[({:;]`)

// mustBeFirst reports whether the program has what may stand behind no using directive.
func mustBeFirst(blank string) bool {
	for line := range strings.Lines(blank) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#define") || strings.HasPrefix(line, "#undef") || strings.HasPrefix(line, "extern alias") {
			return true
		}
	}
	return false
}

func declaresType(piece compiled.Piece) bool {
	for _, word := range piece.Words {
		switch word {
		case "class", "struct", "enum", "interface", "namespace", "delegate":
			return true
		case "record":
			return newType.MatchString(piece.Head + "{")
		case "public", "internal", "private", "abstract", "sealed", "static", "partial", "readonly":
		default:
			return false
		}
	}
	return false
}
