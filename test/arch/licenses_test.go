package arch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// commands lists the import paths of everything with a main function.
func commands(t *testing.T) []string {
	t.Helper()
	var mains []string
	for _, p := range ours(t) {
		if p.Name == "main" {
			mains = append(mains, p.ImportPath)
		}
	}
	if len(mains) == 0 {
		t.Fatal("the module has no command; the rule would hold for nothing")
	}
	return mains
}

// deps lists every package that any of the commands links.
func deps(t *testing.T, mains []string) []Package {
	t.Helper()
	packages, err := List(t.Context(), root, append([]string{"-deps"}, mains...)...)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func TestLinkedLicenses(t *testing.T) {
	modules := 0
	for _, p := range deps(t, commands(t)) {
		if p.Module != nil && p.Module.Path != Module {
			modules++
		}
		for _, broken := range CheckLicense(p) {
			t.Error(broken)
		}
	}
	if modules == 0 {
		t.Error("no package of another module is linked; the rule held for nothing")
	}
}

// TestOnlyTheLauncherLinksRunc looks through indirect imports too, which the table
// of reserved imports cannot.
func TestOnlyTheLauncherLinksRunc(t *testing.T) {
	const launcher = Module + "/cmd/yurt-launcher"
	mains := commands(t)
	if !slices.Contains(mains, launcher) {
		t.Errorf("there is no %s any more; correct this rule", launcher)
	}
	others := slices.DeleteFunc(mains, func(path string) bool { return path == launcher })
	for _, dep := range deps(t, others) {
		if matches("github.com/opencontainers/runc/...", dep.ImportPath) {
			t.Errorf("one of %v links %s: only the launcher may, all else is pure Go", others, dep.ImportPath)
		}
	}
}

func TestCheckLicenseFindsWhatIsWrong(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string // in a module whose linked package is in sub/
		want  string
	}{
		{"free", map[string]string{"LICENSE": "MIT License"}, ""},
		{"forbidden", map[string]string{"LICENSE": "Business Source\nLicense 1.1"}, "forbids competing"},
		{"British spelling", map[string]string{"LICENCE.md": "BUSINESS SOURCE LICENCE"}, "forbids competing"},
		{"free below", map[string]string{"LICENSE": "Business Source License", "sub/LICENSE": "Mozilla Public License"}, ""},
		{"forbidden below", map[string]string{"LICENSE": "MIT", "sub/COPYING": "Business Source License"}, "forbids competing"},
		{"one of two", map[string]string{"LICENSE": "MIT", "LICENSE.BUSL": "Business Source License"}, "forbids competing"},
		{"none", map[string]string{"README.md": "Business"}, "no licence"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			sub := filepath.Join(dir, "sub")
			if err := os.Mkdir(sub, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			p := Package{ImportPath: "example.com/m/sub", Dir: sub, Module: &struct{ Path, Dir string }{"example.com/m", dir}}
			expect(t, tt.name, CheckLicense(p), tt.want)
		})
	}
}

func TestTheRepositoryIsApache(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Apache License", "Version 2.0", "END OF TERMS AND CONDITIONS"} {
		if !strings.Contains(string(data), part) {
			t.Errorf("LICENSE does not hold %q; it has to be the full text of Apache-2.0", part)
		}
	}
}
