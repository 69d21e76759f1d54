package cli

import (
	"regexp"
	"strings"
	"unicode"
)

// colour is an escape sequence that sets how a terminal shows the characters behind it.
var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Printable returns a line of a sandbox's text without characters that a terminal acts upon.
func Printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '�'
	}, line)
}

// PrintableLines returns lines of a sandbox's text without colours and without other characters
// that a terminal acts upon. Tabs stay.
func PrintableLines(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(colour.ReplaceAllString(lines, "")) {
		cells := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		for i := range cells {
			cells[i] = Printable(cells[i])
		}
		b.WriteString(strings.Join(cells, "\t"))
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
