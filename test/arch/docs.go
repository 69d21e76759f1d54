package arch

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
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

var (
	blockOfCode = regexp.MustCompile("(?s)```.*?```")
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notOfAnchor = regexp.MustCompile(`[^\pL\pN _-]`)
	// ownLink knows links without a scheme, which lead to files of the repository.
	ownLink = regexp.MustCompile(`\]\(([^)\s:#]*)#?([^)\s:]*)\)`)
)

// CheckLinks reports each link of a page that leads to no file of the repository, or to no heading of its page.
func CheckLinks(repository fs.FS, page string) ([]string, error) {
	text, err := fs.ReadFile(repository, page)
	if err != nil {
		return nil, err
	}
	var broken []string
	for _, found := range ownLink.FindAllStringSubmatch(inCode.ReplaceAllString(string(text), ""), -1) {
		file, anchor := path.Join(path.Dir(page), found[1]), found[2]
		if found[1] == "" {
			file = page
		}
		if !leads(repository, file, anchor) {
			broken = append(broken, fmt.Sprintf("%s links to %s#%s, which is not there", page, file, anchor))
		}
	}
	return broken, nil
}

// leads reports whether a file is there, with a heading of that anchor, as GitHub derives it.
func leads(repository fs.FS, file, anchor string) bool {
	if anchor == "" {
		_, err := fs.Stat(repository, file)
		return err == nil
	}
	text, err := fs.ReadFile(repository, file)
	if err != nil {
		return false
	}
	for _, found := range heading.FindAllStringSubmatch(blockOfCode.ReplaceAllString(string(text), ""), -1) {
		if strings.ReplaceAll(notOfAnchor.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
