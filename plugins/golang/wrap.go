package golang

import (
	"fmt"
	"strings"

	"github.com/yurtrun/yurt/plugins/compiled"
)

// wrap makes a program of a snippet. One with a package clause is a program already. Of any other,
// imports, functions, types and constants stand at the top level, and the rest becomes the body of
// main. Usual packages of the standard library are imported if the snippet does not import them. Messages about the program, by the compiler or by a panic, have the lines of the snippet.
func wrap(code string) string {
	blank := compiled.Blank(code, compiled.Dialect{Backquote: true})
	pieces := compiled.Splitter{Newlines: true}.Split(code, blank)
	var imports, top, body strings.Builder
	hasMain := false
	for _, piece := range pieces {
		if piece.Is("package") {
			return code
		}
		to := &body
		switch {
		case piece.Is("import"):
			to = &imports
		case piece.Is("type", "const"), declaresFunction(piece):
			to = &top
			hasMain = hasMain || len(piece.Words) > 2 && piece.Words[0] == "func" && piece.Words[1] == "main" && piece.Words[2] == "("
		case hasMain && piece.Is("var"), piece.Is("var") && definesMain(pieces):
			to = &top
		}
		fmt.Fprintf(to, "\n/*line main.go:%d:%d*/%s", piece.Line, piece.Column, strings.TrimLeft(piece.Text, " \t\r\n"))
	}
	head := "package main\n" + missing(blank, imports.String()) + imports.String()
	if hasMain {
		return head + top.String() + body.String()
	}
	return head + top.String() + "\nfunc main() {" + body.String() + "\n}\n"
}

func definesMain(pieces []compiled.Piece) bool {
	for _, piece := range pieces {
		if declaresFunction(piece) && piece.Words[1] == "main" {
			return true
		}
	}
	return false
}

// declaresFunction tells a function or a method from a function literal.
func declaresFunction(piece compiled.Piece) bool {
	words := piece.Words
	if len(words) < 3 || words[0] != "func" {
		return false
	}
	if words[1] != "(" {
		return words[2] == "(" || words[2] == "["
	}
	receiver, rest, ok := strings.Cut(piece.Head, ")")
	name, _, more := strings.Cut(rest, "(")
	name = strings.TrimSpace(name)
	return ok && more && strings.Count(receiver, "(") == 1 && name != "" && !strings.ContainsAny(name, " \t*.[")
}
