package suggest_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt/internal/suggest"
)

func TestNearest(t *testing.T) {
	names := []string{"node-1", "node-2", "worker", "a"}
	for given, want := range map[string]string{
		"node1":                      "node-1",
		"nod-2":                      "node-2",
		"Worker":                     "worker",
		"wroker":                     "worker",
		"b":                          "a", // one edit
		"database":                   "",
		"":                           "a", // one edit too
		strings.Repeat("node-1", 50): "",
	} {
		if got := suggest.Nearest(given, names); got != want {
			t.Errorf("the nearest to %.20q is %q, want %q", given, got, want)
		}
	}
}

func TestQuestion(t *testing.T) {
	for given, want := range map[string]string{"node1": `; did you mean "node-1"?`, "database": ""} {
		if got := suggest.Question(given, []string{"node-1"}); got != want {
			t.Errorf("the question after %q is %q, want %q", given, got, want)
		}
	}
}
