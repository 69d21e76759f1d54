package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestDocsShowThis holds the steps of docs/RUNTIMES.md to this example, line by line.
func TestDocsShowThis(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testutil.Root(t), "docs", "RUNTIMES.md"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	const step = "   " // by which the page indents the lines of a step
	blocks := regexp.MustCompile("(?s)\n"+step+"```go\n(.*?\n)"+step+"```\n").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Errorf("the page shows %d pieces of Go in its steps, want 3: main, Describe and Plan", len(blocks))
	}
	for _, block := range blocks {
		shown := regexp.MustCompile("(?m)^"+step).ReplaceAllString(block[1], "")
		if !strings.Contains(string(example), "\n"+shown) {
			t.Errorf("the page shows this, which is not in main.go, line by line:\n%s", shown)
		}
	}
}
