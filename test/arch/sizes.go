package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
)

// Sizes are the figures of a package that grow when a second subject moves in. Tests and generated files do not count.
type Sizes struct {
	Files, Lines int
	Methods      map[string]int // declared methods by the type that has them
	Interfaces   map[string]int // methods by the interface that declares them, embedded interfaces as one
}

// The greatest sizes. A package beyond them has more than one subject, a type more than one job, and an interface more than one user.
const (
	MaxFiles            = 25
	MaxLines            = 4000
	MaxMethods          = 40
	MaxInterfaceMethods = 9
)

// Measure adds up the files of a package.
func Measure(files []Source) Sizes {
	sizes := Sizes{Methods: map[string]int{}, Interfaces: map[string]int{}}
	for _, s := range files {
		if s.isTest() || ast.IsGenerated(s.AST) {
			continue
		}
		sizes.Files++
		sizes.Lines += s.lines()
		for _, decl := range s.AST.Decls {
			sizes.add(decl)
		}
	}
	return sizes
}

func (s Sizes) add(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv != nil {
			s.Methods[receiver(decl.Recv.List[0].Type)]++
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if declared, ok := spec.Type.(*ast.InterfaceType); ok {
				s.Interfaces[spec.Name.Name] = len(declared.Methods.List)
			}
		}
	}
}

// receiver names the type of a receiver without its pointer and its type parameters.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	default:
		return "?"
	}
}

// Exception raises one limit for one package, type or interface, for a while.
type Exception struct {
	Of    string // "PACKAGE files", "PACKAGE lines", "PACKAGE.TYPE"
	Most  int    // its present size: the exception may only be lowered
	Why   string
	Since string // the day on which it was granted, as 2006-01-02
}

// CheckSizes reports each size of a package that is above its limit and above its exception.
func CheckSizes(name string, sizes Sizes, exceptions map[string]Exception) []string {
	var broken []string
	check := func(of string, size, most int, cure string) {
		if granted, ok := exceptions[of]; ok {
			most = granted.Most
		}
		if size > most {
			broken = append(broken, fmt.Sprintf("%s: %d, and %d is the most: %s", of, size, most, cure))
		}
	}
	check(name+" files", sizes.Files, MaxFiles, "a package has one subject; split it by subject")
	check(name+" lines", sizes.Lines, MaxLines, "a package has one subject; split it by subject")
	for _, typ := range slices.Sorted(maps.Keys(sizes.Methods)) {
		check(name+"."+typ, sizes.Methods[typ], MaxMethods, "a type with so many methods has more than one job; give each job a type")
	}
	for _, typ := range slices.Sorted(maps.Keys(sizes.Interfaces)) {
		check(name+"."+typ, sizes.Interfaces[typ], MaxInterfaceMethods, "an interface belongs to one user and has the methods that this one calls")
	}
	return broken
}

// CheckExceptions reports exceptions without a reason or a date, and those whose subject is gone.
func CheckExceptions(exceptions []Exception, sizes map[string]int) []string {
	var broken []string
	for _, e := range exceptions {
		if e.Why == "" || e.Since == "" {
			broken = append(broken, e.Of+": an exception needs a reason and a date")
		}
		if _, ok := sizes[e.Of]; !ok {
			broken = append(broken, e.Of+": no such package, file, type or interface; delete the exception")
		}
	}
	return broken
}

// All lists every size by the name that an exception would give it.
func (s Sizes) All(name string) map[string]int {
	all := map[string]int{name + " files": s.Files, name + " lines": s.Lines}
	for typ, n := range s.Methods {
		all[name+"."+typ] = n
	}
	for typ, n := range s.Interfaces {
		all[name+"."+typ] = n
	}
	return all
}
