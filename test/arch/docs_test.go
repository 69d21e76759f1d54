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

// The pages are better than the goal for a package. The limits may only be lowered.
const (
	vaguePages = 1.0
	emptyPages = 0.5
)

func TestPages(t *testing.T) {
	const enough = 500 // words, for a rate to say something
	pages, err := Texts(root+"/docs", ".md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("there are %d pages, %v", len(pages), err)
	}
	var all Prose
	for name, text := range pages {
		count := CountPage(text)
		if all = all.Add(count); count.Words < enough {
			continue
		}
		for _, broken := range CheckProse("docs/"+name, count, VagueGoal, EmptyGoal) {
			t.Error(broken)
		}
	}
	for _, broken := range CheckProse("the pages in docs", all, vaguePages, emptyPages) {
		t.Error(broken)
	}
}

func TestCountPageLeavesCodeOut(t *testing.T) {
	page := "What is `none`?\n\n```sh\necho nothing # what\n```\n\nNobody knows.\n"
	if got, want := CountPage(page), (Prose{Words: 4, Vague: 1, Empty: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}
