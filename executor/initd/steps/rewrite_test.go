package steps

import (
	"strings"
	"testing"
)

// TestRewriter: compiler messages about a line with an insertion show the line as the user wrote it.
func TestRewriter(t *testing.T) {
	t.Parallel()
	rust := &Insertion{File: "main.rs", Line: 1, Column: 1, Text: "fn main() {"}
	for name, tt := range map[string]struct {
		inserted  *Insertion
		out, want string
	}{
		"a place":      {rust, "error: x\n --> /run/yurt/exe_1/main.rs:1:16\n", "error: x\n --> main.rs:1:5\n"},
		"another line": {rust, "main.rs:2:16\nmain.rs:11:16\n", "main.rs:2:16\nmain.rs:11:16\n"},
		"marks": {
			rust, "1 | fn main() {let ä = b;\n  |                    ^ not found\n  |            ----- here\n\n2 |               ^\n",
			"1 | let ä = b;\n  |         ^ not found\n  | ----- here\n\n2 |               ^\n",
		},
		"marks of the insertion":  {rust, "1 | fn main() {a\n  |    ^^^^\n", "1 | a\n  |    ^^^^\n"},
		"behind an import":        {&Insertion{File: "Main.java", Line: 1, Column: 10, Text: "class Main {"}, "/tmp/out/Main.java:1: error\nimport a;class Main {\n       ^\n  symbol: a\n", "Main.java:1: error\nimport a;\n       ^\n  symbol: a\n"},
		"no insertion":            {nil, "/run/yurt/exe_1/a:1:1 fn main() {\n/run/yurt/exe_2/a", "a:1:1 fn main() {\n/run/yurt/exe_2/a"},
		"a column that is none":   {rust, "main.rs:1:x main.rs:1:99999999999999999999\n", "main.rs:1:x main.rs:1:99999999999999999999\n"},
		"a very long line, whole": {nil, strings.Repeat("x", 3*maxHeld), strings.Repeat("x", 3*maxHeld)},
	} {
		for _, size := range []int{1, 7, len(tt.out)} { // however it is cut
			rewriter, got := NewRewriter([]string{"/run/yurt/exe_1", "/tmp/out"}, tt.inserted), ""
			for rest := tt.out; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				got += string(rewriter.Write([]byte(rest[:min(size, len(rest))])))
			}
			if got += string(rewriter.Flush()); got != tt.want {
				t.Errorf("%s, in pieces of %d: %.300q, want %.300q", name, size, got, tt.want)
			}
		}
	}
}
