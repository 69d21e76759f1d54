package csharp

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/compiled"
)

// separated finds numbers with digit separators, such as 1_000 and 1_000.5.
var separated = regexp.MustCompile(`\b\d+(?:[xXbB])?_*[\da-fA-F]*_[\w]*(?:\.\d\w*)?|\b\d+\.\d+_\w*`)

// withoutSeparators takes the separators out of numbers, and keeps the columns of the text after them: Mono's
// compiler takes 1_000 for 10000, without a warning.
func withoutSeparators(code string) string {
	if !strings.Contains(code, "_") {
		return code
	}
	blank := compiled.Blank(code, compiled.Dialect{Verbatim: true})
	var out strings.Builder
	at := 0
	for _, found := range separated.FindAllStringIndex(blank, -1) {
		number := code[found[0]:found[1]]
		plain := strings.ReplaceAll(number, "_", "")
		out.WriteString(code[at:found[0]] + plain + strings.Repeat(" ", len(number)-len(plain)))
		at = found[1]
	}
	return out.String() + code[at:]
}

// replaced returns the sources of a project for Mono, and copies of those that have numbers with separators.
func replaced(req plugins.PlanRequest, sources []string) (files []plugins.File, list []string) {
	list = append(list, sources...)
	for _, f := range req.Files {
		source := path.Join(req.Root, f.Path)
		plain := withoutSeparators(string(f.Data))
		if path.Ext(f.Path) != ".cs" || plain == string(f.Data) || strings.ContainsAny(source, "\"\n") {
			continue
		}
		for i, s := range list {
			if s == source {
				copied := fmt.Sprintf("source%d.cs", i)
				files = append(files, plugins.File{Path: copied, Data: []byte(`#line 1 "` + source + "\"\n" + plain), Mode: 0o644})
				list[i] = path.Join(req.Dir, copied)
			}
		}
	}
	return files, list
}
