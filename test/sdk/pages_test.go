package sdk

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// snippets returns the blocks of a guide, in the languages, and wants as many as there are at least.
func snippets(t *testing.T, page, languages string, least int) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```("+languages+")\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(found) < least {
		t.Fatalf("docs/%s has %d snippets, expected %d or more", page, len(found), least)
	}
	return found
}
