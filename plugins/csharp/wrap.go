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

// monoSymbol is defined where Mono compiles: it knows no functions within functions, and no main method that waits.
const monoSymbol = "YURT_MONO"

// wrap makes a program of a snippet, which may have a Main method. The compiler's messages have the
// lines of the snippet.
func wrap(code string) string {
	code = withoutSeparators(code)
	blank := compiled.Blank(code, compiled.Dialect{Verbatim: true})
	if compiled.HasFunction(blank, "Main") {
		first := fmt.Sprintf("#line 1 %q\n", snippet)
		if mustBeFirst(blank) {
			return first + code
		}
		return usual + first + code
	}
	var p parts
	at := 0
	for _, piece := range (compiled.Splitter{}).Split(code, blank) {
		p.add(piece, blank[at:at+len(piece.Text)])
		at += len(piece.Text)
	}
	return usual + p.usings.String() + p.types.String() + "static class Program {\n" + p.methods.String() + p.main() + "}\n"
}

// parts are those of the program that a snippet becomes.
type parts struct {
	usings, types, methods, body strings.Builder
	async, result                bool // whether the statements wait for tasks, and give the exit code
}

// add adds a piece of the snippet; blank is its text without comments and literals.
func (p *parts) add(piece compiled.Piece, blank string) {
	line := fmt.Sprintf("#line %d ", piece.Line) + `"` + snippet + "\"\n"
	text := line + piece.Indented() + "\n"
	switch isFunction := function.MatchString(blank) && !piece.Is(statements()...); {
	case piece.Is("using") && !strings.Contains(piece.Head, "("):
		p.usings.WriteString(text)
	case declaresType(piece):
		p.types.WriteString(text)
	case isFunction && piece.Is("static"):
		p.methods.WriteString(text)
	case isFunction:
		p.methods.WriteString("#if " + monoSymbol + "\nstatic\n" + text + "#endif\n")
		p.body.WriteString("#if !" + monoSymbol + "\n" + text + "#endif\n")
	default:
		// A value in a string, $"{await f()}", is not in the blank.
		p.async = p.async || awaits.MatchString(blank) || strings.Contains(piece.Text, `$"`) && awaits.MatchString(piece.Text)
		p.result = p.result || returns.MatchString(blank) && !functions.MatchString(blank)
		p.body.WriteString(text)
	}
}

// main is the main method of the statements.
func (p *parts) main() string {
	kind, task, end := "void", "Task", ""
	if p.result {
		kind, task, end = "int", "Task<int>", "return 0;\n"
	}
	statements := p.body.String() + end + "}"
	if !p.async {
		return "static " + kind + " Main(string[] args) {\n" + statements
	}
	return "static async " + task + " Main(string[] args) {\n" + statements
}

// entry is the main method for Mono of a program whose own is asynchronous.
const entry = `#if ` + monoSymbol + `
static class YurtEntry {
	static int Main(string[] args) {
		var all = System.Reflection.BindingFlags.Static | System.Reflection.BindingFlags.Public | System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.DeclaredOnly;
		foreach (var type in typeof(YurtEntry).Assembly.GetTypes())
			foreach (var method in type.GetMethods(all)) {
				if (method.Name != "Main" || !typeof(System.Threading.Tasks.Task).IsAssignableFrom(method.ReturnType)) continue;
				var task = (System.Threading.Tasks.Task)method.Invoke(null, method.GetParameters().Length == 0 ? null : new object[] { args });
				task.GetAwaiter().GetResult();
				var number = task as System.Threading.Tasks.Task<int>;
				return number == null ? 0 : number.Result;
			}
		return 0;
	}
}
#endif
`

// asyncMain finds a main method that Mono does not take for one.
var asyncMain = regexp.MustCompile(`\basync\s+(?:System\.Threading\.Tasks\.)?Task\s*(?:<\s*int\s*>)?\s+Main\s*\(`)

// function finds the definition of a function, with a block or an expression.
var function = regexp.MustCompile(`^\s*(?:(?:static|async|unsafe|extern|public|private|internal)\s+)*(?:[\w.]+(?:<[^=;(){}]*>)?|\([\w\s,<>\[\].?]+\))(?:\[,*\]|\?)*\s+\w+\s*(?:<[\w,\s]+>)?\s*\([^;{}]*\)\s*(?:where\s[^{;=]*)?(?:=>|\{)`)

// statements are words that begin no definition of a function.
func statements() []string {
	return []string{
		"if", "for", "foreach", "while", "do", "switch", "try", "else", "return", "catch", "case", "using", "lock", "new", "throw", "goto", "fixed", "await", "yield", "checked", "unchecked",
	}
}

// These find, in statements without comments and literals, the form that their main method needs.
var (
	awaits    = regexp.MustCompile(`\bawait\b`)
	returns   = regexp.MustCompile(`\breturn\s*[^;\s]`)
	functions = regexp.MustCompile(`=>|\bdelegate\b`)
)

// newType finds the declaration of a type by a word that may be a name too.
var newType = regexp.MustCompile(`\brecord\s+(?:class\s+|struct\s+)?\w+\s*(?:<[^>]*>)?\s*[({:;]`)

// mustBeFirst reports whether the program has a line that may not come after a using directive.
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
