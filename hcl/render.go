package hcl

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/mattn/go-runewidth"
)

const (
	maxSummaryRunes = 200
	maxDetailRunes  = 1000
	maxSnippetRunes = 160 // of one source line
	snippetLead     = 60  // runes shown before the problem when its line is cut
)

// Colours of a terminal.
const (
	styleError     = "\x1b[1;31m"
	styleBold      = "\x1b[1m"
	styleUnderline = "\x1b[31m"
	styleReset     = "\x1b[0m"
)

// Text writes every problem with its source line and an underline, one after the
// other, with colours for a terminal if colour is true.
func (e *Error) Text(colour bool) string {
	var b strings.Builder
	for i := range e.Diagnostics {
		if i > 0 {
			b.WriteByte('\n')
		}
		e.Diagnostics[i].write(&b, colour)
	}
	if e.Omitted > 0 {
		fmt.Fprintf(&b, "\nand %s, not shown.\n", count(e.Omitted, "more problem"))
	}
	return b.String()
}

func (d *Diagnostic) write(b *strings.Builder, colour bool) {
	style := func(code, text string) string {
		if !colour {
			return text
		}
		return code + text + styleReset
	}
	fmt.Fprintf(b, "%s: %s\n\n", style(styleError, "Error"), style(styleBold, d.Summary))
	if place := d.place(); place != "" {
		fmt.Fprintf(b, "  %s:\n", place)
		if d.marker != "" {
			fmt.Fprintf(b, "%4d: %s\n", d.Line, d.Snippet)
			fmt.Fprintf(b, "      %s\n", style(styleUnderline, d.marker))
		}
		b.WriteByte('\n')
	}
	if d.Detail != "" {
		fmt.Fprintf(b, "%s\n", d.Detail)
	}
}

// place says where the problem is, in words.
func (d *Diagnostic) place() string {
	if d.Line == 0 {
		return ""
	}
	text := fmt.Sprintf("on line %d, column %d", d.Line, d.Column)
	if d.File != "" {
		text = fmt.Sprintf("on %s line %d, column %d", d.File, d.Line, d.Column)
	}
	if d.Context != "" {
		text += ", in " + d.Context
	}
	return text
}

// snippet returns the line on which r begins, and carets under the part of it that
// r covers. A long line is cut around the problem.
func snippet(src []byte, r hcl.Range) (line, marker string) {
	start := min(max(r.Start.Byte, 0), len(src))
	lineStart := bytes.LastIndexByte(src[:start], '\n') + 1
	lineEnd := len(src)
	if i := bytes.IndexByte(src[start:], '\n'); i >= 0 {
		lineEnd = start + i
	}
	end := min(max(r.End.Byte, start), lineEnd)

	lead := snippetLead
	if utf8.RuneCount(src[lineStart:lineEnd]) <= maxSnippetRunes {
		lead = maxSnippetRunes
	}
	before, cutBefore := lastRunes(src[lineStart:start], lead)
	room := maxSnippetRunes - utf8.RuneCountInString(before)
	marked, cutMarked := firstRunes(src[start:end], room)
	after, cutAfter := "", false
	if !cutMarked {
		after, cutAfter = firstRunes(src[end:lineEnd], room-utf8.RuneCountInString(marked))
	}
	if cutBefore {
		before = "…" + before
	}
	line = strings.TrimRight(before+marked+after, " ")
	if cutMarked || cutAfter {
		line += "…"
	}
	// A width of its own, so that the output does not depend on the locale.
	width := runewidth.Condition{StrictEmojiNeutral: true}
	marker = strings.Repeat(" ", width.StringWidth(before)) + strings.Repeat("^", max(1, width.StringWidth(marked)))
	return line, marker
}

// firstRunes returns up to limit runes from the start of text, made printable.
func firstRunes(text []byte, limit int) (head string, cut bool) {
	var b strings.Builder
	for n := 0; len(text) > 0; n++ {
		if n >= limit {
			return b.String(), true
		}
		r, size := utf8.DecodeRune(text)
		b.WriteRune(visible(r))
		text = text[size:]
	}
	return b.String(), false
}

// lastRunes returns up to limit runes from the end of text, made printable.
func lastRunes(text []byte, limit int) (tail string, cut bool) {
	start, n := len(text), 0
	for ; start > 0 && n < limit; n++ {
		_, size := utf8.DecodeLastRune(text[:start])
		start -= size
	}
	tail, _ = firstRunes(text[start:], limit)
	return tail, start > 0
}

// printable returns text without control characters but newlines, cut after limit runes. Messages
// quote source text, and a terminal would obey its control characters.
func printable(text string, limit int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		head, _ := firstRunes([]byte(line), limit+1)
		lines[i] = head
	}
	runes := []rune(strings.Join(lines, "\n"))
	if len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return string(runes)
}

// oneLine is printable for texts that may not hold newlines either.
func oneLine(text string, limit int) string {
	return printable(strings.ReplaceAll(text, "\n", " "), limit)
}

// visible replaces a rune that a terminal would not show as one character: a tab by a space, a
// control or formatting character by the replacement character.
func visible(r rune) rune {
	switch {
	case r == '\t' || r == '\r':
		return ' '
	case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
		return utf8.RuneError
	default:
		return r
	}
}
