package golang

import (
	"path"
	"regexp"
	"strings"
)

// usual are packages of the standard library that a snippet need not import. Of two with the same name, the list has the
// one that short programs use.
func usual() []string {
	return []string{
		"bufio", "bytes", "cmp", "container/heap", "container/list", "context", "crypto/md5", "crypto/sha256", "encoding/base64",
		"encoding/binary", "encoding/csv", "encoding/hex", "encoding/json", "encoding/xml", "errors", "fmt", "io", "iter", "log", "maps", "math",
		"math/big", "math/bits", "math/rand", "net/http", "net/url", "os", "os/exec", "os/signal", "path", "path/filepath", "reflect", "regexp",
		"runtime", "slices", "sort", "strconv", "strings", "sync", "sync/atomic", "text/tabwriter", "time", "unicode", "unicode/utf8",
	}
}

// identifier is a name that is no selector, with the exported selector behind it.
var identifier = regexp.MustCompile(`(^|[^\w.])([a-z]\w*)(\s*\.\s*[A-Z])?`)

// missing returns the imports that code without comments and strings lacks. A package is used if its name stands only
// before a selector: a variable or a parameter of that name stands alone where it is declared.
func missing(blank, imports string) string {
	selected, alone := map[string]bool{}, map[string]bool{}
	for _, match := range identifier.FindAllStringSubmatch(blank, -1) {
		if match[3] != "" {
			selected[match[2]] = true
		} else {
			alone[match[2]] = true
		}
	}
	var lines strings.Builder
	for _, name := range usual() {
		base := path.Base(name)
		if selected[base] && !alone[base] && !regexp.MustCompile(`\b`+base+`\b`).MatchString(imports) {
			lines.WriteString("import \"" + name + "\"\n")
		}
	}
	return lines.String()
}
