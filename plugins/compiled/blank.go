package compiled

import (
	"strings"
	"unicode/utf8"
)

// Dialect describes how a language writes comments and literals.
type Dialect struct {
	Nested    bool // comments like /* this */ nest
	Backquote bool // `raw strings`
	Triple    bool // """text blocks"""
	Verbatim  bool // @"strings" in which "" is a quote
	Lifetimes bool // 'a may be a name, and r#"raw strings"#
	Delimited bool // R"x(raw strings)x"
}

// Blank returns the code with every byte of a comment, a string or a character
// replaced by a space; line breaks stay, so that lines and columns are those of the
// code.
func Blank(code string, dialect Dialect) string {
	out := []byte(code)
	for i := 0; i < len(code); {
		end := dialect.skip(code, i)
		if end <= i {
			i++
			continue
		}
		for ; i < end; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	return string(out)
}

// skip returns the end of the comment or literal that begins at i, or i.
func (d Dialect) skip(code string, i int) int {
	rest := code[i:]
	switch {
	case strings.HasPrefix(rest, "//"):
		return i + until(rest, "\n", 2)
	case strings.HasPrefix(rest, "/*"):
		return i + d.comment(rest)
	case d.Triple && strings.HasPrefix(rest, `"""`):
		return i + past(rest, `"""`, 3)
	case d.Backquote && rest[0] == '`':
		return i + past(rest, "`", 1)
	case rest[0] == '"':
		return i + quotedText(rest, '"')
	case rest[0] == '\'':
		return i + d.character(code, i)
	case i > 0 && wordByte(code[i-1]):
		return i
	default:
		return i + d.prefixed(rest)
	}
}

// prefixed ends the raw string that text begins with, by a mark before its quote.
func (d Dialect) prefixed(text string) int {
	switch {
	case d.Verbatim && (strings.HasPrefix(text, `@"`) || strings.HasPrefix(text, `$@"`) || strings.HasPrefix(text, `@$"`)):
		return verbatim(text)
	case d.Delimited && strings.HasPrefix(text, `R"`):
		return delimited(text)
	case d.Lifetimes && text[0] == 'r':
		return hashed(text)
	default:
		return 0
	}
}

func (d Dialect) comment(text string) int {
	if !d.Nested {
		return past(text, "*/", 2)
	}
	depth := 0
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(text[i:], "*/"):
			i += 2
			if depth--; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(text)
}

// character returns the end of the literal that an apostrophe at i begins: a character; but in Rust
// it may be a name, and in C++ it may be in a number.
func (d Dialect) character(code string, i int) int {
	text := code[i:]
	if d.Delimited && i > 0 && wordByte(code[i-1]) {
		return 0
	}
	if d.Lifetimes && len(text) > 1 && text[1] != '\\' {
		_, size := utf8.DecodeRuneInString(text[1:])
		if !strings.HasPrefix(text[1+size:], "'") {
			return 0
		}
		return size + 2
	}
	return quotedText(text, '\'')
}

// quotedText ends at the quote, or at the end of the line.
func quotedText(text string, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		case '\n':
			if quote == '\'' {
				return i
			}
		}
	}
	return len(text)
}

func verbatim(text string) int {
	i := strings.IndexByte(text, '"') + 1
	for i < len(text) {
		if text[i] != '"' {
			i++
			continue
		}
		if !strings.HasPrefix(text[i:], `""`) {
			return i + 1
		}
		i += 2
	}
	return len(text)
}

func delimited(text string) int {
	open := strings.IndexByte(text[:min(len(text), 20)], '(')
	if open < 0 {
		return 0
	}
	return past(text, ")"+text[2:open]+`"`, open)
}

func hashed(text string) int {
	hashes := 0
	for 1+hashes < len(text) && text[1+hashes] == '#' {
		hashes++
	}
	if 1+hashes >= len(text) || text[1+hashes] != '"' {
		return 0
	}
	return past(text, `"`+strings.Repeat("#", hashes), 2+hashes)
}

// past is the index behind the next end, looked for from a start.
func past(text, end string, from int) int {
	if i := strings.Index(text[min(from, len(text)):], end); i >= 0 {
		return min(from, len(text)) + i + len(end)
	}
	return len(text)
}

// until is the index of the next end, looked for from a start.
func until(text, end string, from int) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i
	}
	return len(text)
}

func wordByte(b byte) bool {
	return b == '_' || (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || b >= 0x80
}
