package arch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Module is the path of the module that the rules are about.
const Module = "github.com/yurtrun/yurt"

// Package is what the rules need to know of a package, named as go list names it.
type Package struct {
	ImportPath   string
	Name         string
	Dir          string
	Standard     bool
	ForTest      string
	Imports      []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
	CgoFiles     []string
	TestGoFiles  []string
	XTestGoFiles []string
	Module       *struct{ Path, Dir string }
}

// Rel returns the package's path inside the module, "." for the root, and whether
// it is one of ours at all.
func (p Package) Rel() (string, bool) { return rel(p.ImportPath) }

func rel(importPath string) (string, bool) {
	if importPath == Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, Module+"/")
}

// AllImports returns what the package and its tests import.
func (p Package) AllImports() []string {
	return concat(p.Imports, p.TestImports, p.XTestImports)
}

// Files returns the names of the package's Go files, those of its tests included.
func (p Package) Files() []string {
	return concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles)
}

func concat(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// List runs go list in dir with the tags that everything is built with.
func List(ctx context.Context, dir string, args ...string) ([]Package, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json", "-tags", "seccomp"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages %v: %w\n%s", args, err, stderr.Bytes())
	}
	var packages []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading go list's answer: %w", err)
		}
		packages = append(packages, p)
	}
}
