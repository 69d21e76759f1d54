package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// The greatest lengths of Go files, in lines. A file has one subject, and a longer one has two; the cases of a test's table make
// its file longer.
const (
	MaxFileLines     = 400
	MaxTestFileLines = 600
)

// Source is one parsed Go file.
type Source struct {
	Path string
	Text []byte
	AST  *ast.File
	Fset *token.FileSet
}

// Parse parses one Go file; path is only what complaints name it.
func Parse(path string, text []byte) (Source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return Source{}, fmt.Errorf("parsing: %w", err)
	}
	return Source{Path: path, Text: text, AST: file, Fset: fset}, nil
}

func (s Source) at(n ast.Node) string { return s.Fset.Position(n.Pos()).String() }

func (s Source) lines() int { return strings.Count(string(s.Text), "\n") }

func (s Source) isTest() bool { return strings.HasSuffix(s.Path, "_test.go") }

// CheckDoc reports a package none of whose files says what it is: "Package x …",
// or "Command x …" for a command.
func CheckDoc(p Package, files []Source) []string {
	dir := p.ImportPath[strings.LastIndexByte(p.ImportPath, '/')+1:]
	want := "Package " + p.Name + " "
	if p.Name == "main" {
		want = "Command " + dir + " "
	}
	for _, f := range files {
		if f.AST.Doc == nil {
			continue
		}
		text := f.AST.Doc.Text()
		if strings.HasPrefix(text, want) && strings.Contains(text, ".") {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s has no doc that begins %q: say in doc.go what it is for, who calls it, what it promises and what it never does", p.ImportPath, want)}
}

// CheckLength reports a file that is too long and was not generated.
func CheckLength(s Source) []string {
	most := MaxFileLines
	if s.isTest() {
		most = MaxTestFileLines
	}
	if lines := s.lines(); lines > most && !ast.IsGenerated(s.AST) {
		return []string{fmt.Sprintf("%s has %d lines, and %d is the most: split it by subject", s.Path, lines, most)}
	}
	return nil
}

// CheckSkips reports a test that is skipped for any reason but -short: one that
// does not run where it should is a hole that nobody sees.
func CheckSkips(s Source) []string {
	if !s.isTest() {
		return nil
	}
	allowed := map[ast.Node]bool{}
	var broken []string
	ast.Inspect(s.AST, func(n ast.Node) bool {
		if body := whereSkipsAreFine(n); body != nil {
			ast.Inspect(body, func(inner ast.Node) bool { allowed[inner] = true; return true })
		}
		if call, ok := n.(*ast.CallExpr); ok && isSkip(call) && !allowed[n] {
			broken = append(broken, s.at(n)+": a test may be skipped only inside `if testing.Short()`; what the machine lacks is a failure that says what to install")
		}
		return true
	})
	return broken
}

// whereSkipsAreFine returns the part of n in which a skip is no hole: what runs only
// under -short, and a step of a property test, where rapid takes it for "try another".
func whereSkipsAreFine(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.IfStmt:
		if isCall(n.Cond, "testing", "Short") {
			return n.Body
		}
	case *ast.FuncDecl:
		if n.Body != nil && takesRapid(n.Type) {
			return n.Body
		}
	case *ast.FuncLit:
		if takesRapid(n.Type) {
			return n.Body
		}
	}
	return nil
}

func takesRapid(fn *ast.FuncType) bool {
	return slices.ContainsFunc(fn.Params.List, func(param *ast.Field) bool {
		pointer, ok := param.Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		selector, ok := pointer.X.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		ident, ok := selector.X.(*ast.Ident)
		return ok && ident.Name == "rapid" && selector.Sel.Name == "T"
	})
}

func isSkip(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	receiver, ok := selector.X.(*ast.Ident)
	if !ok || receiver.Name != "t" && receiver.Name != "b" && receiver.Name != "tb" && receiver.Name != "f" {
		return false
	}
	switch selector.Sel.Name {
	case "Skip", "Skipf", "SkipNow":
		return true
	default:
		return false
	}
}

// CheckRoots reports a path through the root, the working directory or a descriptor of another process: it would follow the
// links that a sandbox put there.
func CheckRoots(s Source) []string {
	if s.isTest() || strings.HasPrefix(s.Path, "internal/linux/openat/") || strings.HasPrefix(s.Path, "test/") {
		return nil
	}
	var broken []string
	ast.Inspect(s.AST, func(n ast.Node) bool {
		text, ok := n.(*ast.BasicLit)
		if ok && text.Kind == token.STRING && (strings.Contains(text.Value, "/proc/%d/root") || strings.Contains(text.Value, "/proc/%d/cwd")) {
			broken = append(broken, s.at(n)+": a path in a sandbox is opened by openat.Inside, which follows no link")
		}
		return true
	})
	return broken
}

// CheckFuzzSeeds reports a fuzz target that adds no seed, as without any an
// ordinary test run does not run it at all.
func CheckFuzzSeeds(s Source) []string {
	if !s.isTest() {
		return nil
	}
	var broken []string
	for _, decl := range s.AST.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Fuzz") || fn.Body == nil {
			continue
		}
		if !hasCall(fn.Body, "f", "Add") && !handsOnF(fn.Body) {
			broken = append(broken, s.at(fn)+": "+fn.Name.Name+" adds no seed with f.Add, itself or in a helper, so `go test` never runs it")
		}
	}
	return broken
}

// handsOnF reports whether f is given to a helper, which then adds the seeds.
func handsOnF(body ast.Node) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			for _, arg := range call.Args {
				ident, ok := arg.(*ast.Ident)
				found = found || ok && ident.Name == "f"
			}
		}
		return !found
	})
	return found
}

// CheckExits reports a call that ends the process anywhere but in a command's main,
// where no deferred call is left to be skipped.
func CheckExits(s Source) []string {
	var broken []string
	for _, decl := range s.AST.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Name.Name == "TestMain" || fn.Name.Name == "main" && s.AST.Name.Name == "main" {
			continue
		}
		for _, name := range []string{"Exit", "Fatal", "Fatalf", "Fatalln"} {
			if hasCall(fn.Body, "os", name) || hasCall(fn.Body, "log", name) {
				broken = append(broken, s.at(fn)+": "+fn.Name.Name+" ends the process, which skips every deferred clean-up; return an error, and let main exit")
			}
		}
	}
	return broken
}

func hasCall(in ast.Node, receiver, name string) bool {
	found := false
	ast.Inspect(in, func(n ast.Node) bool {
		if expr, ok := n.(ast.Expr); ok && isCall(expr, receiver, name) {
			found = true
		}
		return !found
	})
	return found
}

func isCall(expr ast.Expr, receiver, name string) bool {
	call, ok := expr.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	ident, ok := selector.X.(*ast.Ident)
	return ok && ident.Name == receiver
}
