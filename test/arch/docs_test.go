package arch

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTestsThatAreNamed(t *testing.T) {
	tests := make(Tests)
	for _, p := range ours(t) {
		for _, s := range sources(t)[p.ImportPath] {
			tests.Add(s)
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are pages %q, %v", pages, err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range CheckTestsNamed(filepath.Base(page), string(text), tests) {
			t.Error(broken)
		}
	}
}

func TestCheckTestsNamedFindsWhatIsWrong(t *testing.T) {
	tests := make(Tests)
	tests.Add(parse(t, "x/a_test.go", "package a\nfunc TestA(t *T) {}\nfunc (s S) TestB() {}"))
	tests.Add(parse(t, "x/c.go", "package a\nfunc TestC() {}"))
	for text, want := range map[string]string{
		"by `x` TestA, a_test.go":   "",
		"tests Testing, Fuzzing":    "",
		"by TestA, TestB":           "TestB",
		"by TestC (TestA)":          "TestC",
		"by FuzzA":                  "FuzzA",
		"by b_test.go":              "b_test.go",
		"| layer | TestA, TestA2 |": "TestA2",
	} {
		expect(t, text, CheckTestsNamed("page", text, tests), want)
	}
}
