package csharp

import (
	"fmt"
	"strings"

	"github.com/yurtrun/yurt/plugins/compiled"
)

// wrap makes a program of a snippet without a Main method. What the compiler says has
// the lines of the snippet.
func wrap(code string) string {
	blank := compiled.Blank(code, compiled.Dialect{Verbatim: true})
	if compiled.HasFunction(blank, "Main") {
		return code
	}
	var usings, types, methods, body strings.Builder
	for _, piece := range (compiled.Splitter{}).Split(code, blank) {
		to := &body
		switch {
		case piece.Is("using") && !strings.Contains(piece.Head, "("):
			to = &usings
		case declaresType(piece):
			to = &types
		case piece.Is("static") && piece.DefinesFunction():
			to = &methods
		}
		fmt.Fprintf(to, "#line %d \"main.cs\"\n%s\n", piece.Line, piece.Indented())
	}
	return usings.String() + types.String() + "static class Program {\n" + methods.String() +
		"static void Main(string[] args) {\n" + body.String() + "}}\n"
}

func declaresType(piece compiled.Piece) bool {
	for _, word := range piece.Words {
		switch word {
		case "class", "struct", "enum", "interface", "namespace", "delegate":
			return true
		case "public", "internal", "private", "abstract", "sealed", "static", "partial", "readonly":
		default:
			return false
		}
	}
	return false
}
