package cfamily

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yurtrun/yurt/plugins/compiled"
)

// wrap makes a program of a snippet without a main function. The compiler's messages have the lines
// of the snippet.
func (r Runtime) wrap(code string) string {
	blank := compiled.Blank(code, compiled.Dialect{Delimited: true})
	if compiled.HasFunction(blank, "main") {
		return fmt.Sprintf("#line 1 %q\n", r.snippet) + code // else the file has its directory in assertions
	}
	var top, body strings.Builder
	for _, piece := range (compiled.Splitter{Directives: true, Semicolons: true}).Split(code, blank) {
		to := &body
		if topLevel(piece) {
			to = &top
		}
		fmt.Fprintf(to, "#line %d \"%s\"\n%s\n", piece.Line, r.snippet, piece.Indented())
	}
	return r.headers + includeNamed(r.named, blank) + r.namespace(blank) + top.String() + "int main(int argc, char **argv) {\n" + body.String() + "return 0; }\n"
}

// stream finds the name of a stream of C++.
var stream = regexp.MustCompile(`\b(cout|cin|cerr)\b`)

// namespace makes the names of std known in a snippet that uses its streams without naming it.
func (r Runtime) namespace(blank string) string {
	if r.named == nil || strings.Contains(blank, "std") || !stream.MatchString(blank) {
		return ""
	}
	return "using namespace std;\n"
}

func topLevel(piece compiled.Piece) bool {
	return piece.Is("#", "template", "namespace", "class", "concept", "typedef", "using", "const", "constexpr", "static", "inline", "extern") ||
		piece.Is("struct", "enum", "union") && definesType(piece) || piece.DefinesFunction()
}

// definesType tells a definition from a variable of such a type.
func definesType(piece compiled.Piece) bool {
	return len(piece.Head) < len(piece.Text) && !strings.ContainsAny(piece.Head, "=(")
}
