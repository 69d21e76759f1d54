package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
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

// TestLinks follows the links between the pages, as sections move from one page to another.
func TestLinks(t *testing.T) {
	repository := os.DirFS(root)
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "sdk/*/*.md", "test/*/*.md"} {
		found, err := fs.Glob(repository, pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 30 {
		t.Fatalf("there are %d pages, expected 30 or more", len(pages))
	}
	for _, page := range pages {
		broken, err := CheckLinks(repository, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range broken {
			t.Error(link)
		}
	}
}

func TestCheckLinksFindsWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"[b](B.md), [dir](../dir), [far](https://x.example/#y)": "",
		"[b](B.md#two-words-n), [own](#here)\n## Here":          "",
		"[b](C.md)":            "docs/C.md#",
		"[b](B.md#three)":      "docs/B.md#three",
		"[own](#there)":        "docs/A.md#there",
		"[code](B.md#in-code)": "docs/B.md#in-code",
		"in code: `[x](C.md)`\n```\n[y](C.md)\n```\n": "",
	} {
		broken, err := CheckLinks(fstest.MapFS{
			"docs/A.md":  {Data: []byte(text)},
			"docs/B.md":  {Data: []byte("# B\n## Two `words`, (N)\n```\n# in code\n```\n")},
			"dir/a_file": {},
		}, "docs/A.md")
		if got := strings.Join(broken, " "); err != nil || (got != "") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, %v, expected one with %q", text, got, err, want)
		}
	}
}
