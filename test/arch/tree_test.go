package arch

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// root is the top of the repository as seen from this package's tests.
const root = "../.."

// The module is listed and parsed once for all tests, since each of the two takes seconds.
//
//nolint:gochecknoglobals // a process of tests sees one tree
var (
	listed = sync.OnceValues(func() ([]Package, error) { return List(context.Background(), root, "./...") })
	parsed = sync.OnceValues(parseAll)
)

// ours lists every package of the module.
func ours(t *testing.T) []Package {
	t.Helper()
	packages, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 5 {
		t.Fatalf("go list found %d packages, want those of the whole module", len(packages))
	}
	return packages
}

// sources returns the Go files of each package, by its import path.
func sources(t *testing.T) map[string][]Source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parseAll() (map[string][]Source, error) {
	packages, err := listed()
	if err != nil {
		return nil, err
	}
	all := make(map[string][]Source, len(packages))
	for _, p := range packages {
		rel, _ := p.Rel()
		for _, name := range p.Files() {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			source, err := Parse(filepath.Join(rel, name), text)
			if err != nil {
				return nil, err
			}
			all[p.ImportPath] = append(all[p.ImportPath], source)
		}
	}
	return all, nil
}
