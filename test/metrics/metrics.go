// Package metrics reads from the source which metrics Yurt has, for its reference, docs/METRICS.md, and for the tests that the
// dashboards and alerts of deploy ask for metrics that exist.
package metrics

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Metric is a metric as the source declares it.
type Metric struct {
	Name, Help, Kind string
	Labels           []string
	File             string // that declares it, from the root of the project
}

// Find reads the metrics that the Go files below the directories of root declare.
func Find(root string, dirs ...string) ([]Metric, error) {
	var found []Metric
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return fmt.Errorf("reading metrics: %w", err)
			}
			rel, err := filepath.Rel(root, path)
			for _, m := range inFile(file) {
				m.File = filepath.ToSlash(rel)
				found = append(found, m)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return merge(found), nil
}

// inFile finds calls that begin with options of a metric, or with a name and a help.
func inFile(file *ast.File) []Metric {
	var found []Metric
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if m, ok := fromOptions(call); ok {
			found = append(found, m)
			return true
		}
		name, named := text(call.Args[0])
		if named && strings.HasPrefix(name, "yurt_") && len(call.Args) > 1 {
			m := Metric{Name: name, Kind: "gauge"}
			m.Help, _ = text(call.Args[1])
			if len(call.Args) > 2 {
				m.Labels = labels(file, call.Args[2])
			}
			if strings.HasSuffix(name, "_total") {
				m.Kind = "counter"
			}
			found = append(found, m)
		}
		return true
	})
	return found
}

// fromOptions reads prometheus.NewCounterVec(prometheus.CounterOpts{…}, []string{…}) and the like.
func fromOptions(call *ast.CallExpr) (Metric, bool) {
	literal, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return Metric{}, false
	}
	typ, ok := literal.Type.(*ast.SelectorExpr)
	if !ok || !strings.HasSuffix(typ.Sel.Name, "Opts") {
		return Metric{}, false
	}
	m := Metric{Kind: strings.ToLower(strings.TrimSuffix(typ.Sel.Name, "Opts"))}
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := pair.Key.(*ast.Ident); key.Name {
		case "Name":
			m.Name, _ = text(pair.Value)
		case "Help":
			m.Help, _ = text(pair.Value)
		}
	}
	if len(call.Args) > 1 {
		m.Labels = labels(nil, call.Args[1])
	}
	return m, strings.HasPrefix(m.Name, "yurt_")
}

func text(of ast.Expr) (string, bool) {
	literal, ok := of.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}

// labels reads []string{"a", "b"}, or a variable of the file that holds it.
func labels(file *ast.File, of ast.Expr) []string {
	if name, ok := of.(*ast.Ident); ok && file != nil {
		of = assigned(file, name.Name)
	}
	literal, ok := of.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	var found []string
	for _, element := range literal.Elts {
		if label, ok := text(element); ok {
			found = append(found, label)
		}
	}
	return found
}

func assigned(file *ast.File, name string) (value ast.Expr) {
	ast.Inspect(file, func(n ast.Node) bool {
		if assign, ok := n.(*ast.AssignStmt); ok && len(assign.Lhs) == 1 {
			if to, ok := assign.Lhs[0].(*ast.Ident); ok && to.Name == name {
				value = assign.Rhs[0]
			}
		}
		return true
	})
	return value
}

// merge sorts the metrics. One that several stores declare alike is one.
func merge(found []Metric) []Metric {
	slices.SortFunc(found, func(a, b Metric) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.File, b.File)) })
	return slices.CompactFunc(found, func(a, b Metric) bool {
		return a.Name == b.Name && a.Help == b.Help && a.Kind == b.Kind && slices.Equal(a.Labels, b.Labels)
	})
}
