package arch

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// Tests are the names by which a page may speak of tests: those of functions and of files.
type Tests map[string]bool

// Add adds what a file has of them.
func (n Tests) Add(s Source) {
	if !s.isTest() {
		return
	}
	n[s.Path[strings.LastIndexByte(s.Path, '/')+1:]] = true
	for _, decl := range s.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
			n[fn.Name.Name] = true
		}
	}
}

// CheckTestsNamed reports each test that the page says shows something, and that is not there.
func CheckTestsNamed(page, text string, tests Tests) []string {
	named := regexp.MustCompile(`\b(?:(?:Test|Fuzz)[A-Z]\w*|\w+_test\.go)\b`).FindAllString(text, -1)
	slices.Sort(named)
	var broken []string
	for _, name := range slices.Compact(named) {
		if !tests[name] {
			broken = append(broken, fmt.Sprintf("%s names %s, and there is no such test: what it shows is shown by nothing", page, name))
		}
	}
	return broken
}

// inCode knows the blocks and spans of code of a page.
var inCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// CountPage counts the words of a page outside its code.
func CountPage(text string) Prose {
	return countWords(inCode.ReplaceAllString(text, ""))
}
