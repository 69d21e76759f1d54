// Package text makes text of language runtimes fit to be shown: it is hostile, since it may hold output of a
// sandbox.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut shortens text to at most limit bytes and a mark, never inside a character.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…[cut]"
}

// Clean replaces characters that steer a terminal or break a log line.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

// Printable reports whether text is UTF-8 without control characters.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// Quote escapes text for a message, and shows at most 100 bytes of it.
func Quote(text string) string {
	const limit = 100
	if len(text) > limit {
		return fmt.Sprintf("%q…", text[:limit])
	}
	return fmt.Sprintf("%q", text)
}
