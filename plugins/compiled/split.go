package compiled

import "strings"

// Piece is a part of a snippet's top level: a statement, a declaration, or a part of
// one that ends with a block.
type Piece struct {
	Text   string // with the white space before it
	Line   int    // of its first character that is no white space, from 1
	Column int    // of the same, in bytes from 1
	Words  []string
	Head   string // the text before its first block, comments and literals blanked
}

// Is reports whether the piece begins with one of the words.
func (p Piece) Is(words ...string) bool {
	for _, word := range words {
		if len(p.Words) > 0 && p.Words[0] == word {
			return true
		}
	}
	return false
}

// maxHead is how much of a piece is looked at to see where it ends, in bytes.
const maxHead = 4 << 10

// maxPieces bounds the pieces of a snippet.
const maxPieces = 20_000

// maxIndent is how far a piece is moved to its column.
const maxIndent = 500

// Indented is the piece at its column, where that is not far off, on a line of its own.
func (p Piece) Indented() string {
	text := strings.TrimLeft(p.Text, " \t\r\n")
	if p.Column > maxIndent {
		return text
	}
	return strings.Repeat(" ", p.Column-1) + text
}

// maxWords is how many words of a piece are looked at.
const maxWords = 8

// Splitter says where pieces end, besides behind a block.
type Splitter struct {
	Newlines   bool // at line ends; the end of a block is then no end
	Directives bool // a line that begins with # is a piece
	Semicolons bool // as in C, the definition of a type ends with one
}

// Split cuts the code, of which blank is the form that [Blank] made, into the pieces of its top
// level. Put together they are the code.
func (s Splitter) Split(code, blank string) []Piece {
	c := cutter{code: code, blank: blank, at: position{line: 1, column: 1}}
	depth := 0
	for i := 0; i < len(blank); i++ {
		b := blank[i]
		if s.Directives && b == '#' && depth == 0 && lineStart(blank, i) {
			c.cut(i)
			i = directiveEnd(blank, i) - 1
			c.filled = true
			c.cut(i + 1)
			continue
		}
		c.filled = c.filled || b > ' '
		switch b {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			depth = max(depth-1, 0)
		}
		if depth == 0 && s.ends(blank, c.start, i) {
			c.cut(i + 1)
		}
	}
	c.cut(len(code))
	if c.start < len(code) && len(c.pieces) > 0 { // white space and comments
		c.pieces[len(c.pieces)-1].Text += code[c.start:]
	}
	return c.pieces
}

// cutter cuts pieces off the code, one after the other.
type cutter struct {
	code, blank string
	start       int  // of the next piece
	filled      bool // whether there is anything in it
	at          position
	pieces      []Piece
}

// cut ends a piece there, unless the piece is empty; or there are too many: then the last one is
// all the rest.
func (c *cutter) cut(end int) {
	if !c.filled || len(c.pieces) >= maxPieces-1 && end < len(c.code) {
		return
	}
	c.pieces = append(c.pieces, c.at.piece(c.code[c.start:end], c.blank[c.start:end]))
	c.start, c.filled = end, false
}

// ends reports whether the byte at i, outside all brackets, ends the piece.
func (s Splitter) ends(blank string, start, i int) bool {
	switch blank[i] {
	case ';':
		return true
	case '\n':
		return s.Newlines
	case '}':
		return s.endsBlock(blank[start:i+1], blank[i+1:])
	default:
		return false
	}
}

// endsBlock reports whether the brace at the end of piece ends it, before rest.
func (s Splitter) endsBlock(piece, rest string) bool {
	if s.Newlines || strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ";") {
		return false
	}
	head, _, _ := strings.Cut(piece[:min(len(piece), maxHead)], "{")
	if strings.Contains(head, "=") && !strings.Contains(head, "(") {
		return false // of an initialiser
	}
	return !s.Semicolons || strings.Contains(head, "(") || !definesType(words(head))
}

// definesType reports whether the words begin the definition of a type in C.
func definesType(words []string) bool {
	for _, word := range words {
		switch word {
		case "struct", "class", "union", "enum", "typedef":
			return true
		}
	}
	return false
}

// lineStart reports whether there is only white space before i in its line.
func lineStart(text string, i int) bool {
	for i--; i >= 0 && text[i] != '\n'; i-- {
		if text[i] != ' ' && text[i] != '\t' {
			return false
		}
	}
	return true
}

// directiveEnd is the end of the preprocessor's line that begins at i.
func directiveEnd(text string, i int) int {
	for ; i < len(text); i++ {
		if text[i] == '\n' && text[i-1] != '\\' {
			return i + 1
		}
	}
	return len(text)
}

// position is a place in the code, counted as pieces are cut off.
type position struct{ line, column int }

func (at *position) piece(text, blank string) Piece {
	lead := len(blank) - len(strings.TrimLeft(blank, " \t\r\n"))
	at.advance(text[:lead])
	p := Piece{Text: text, Line: at.line, Column: at.column}
	at.advance(text[lead:])
	p.Head, _, _ = strings.Cut(blank, "{")
	p.Words = words(p.Head)
	return p
}

func (at *position) advance(text string) {
	if breaks := strings.Count(text, "\n"); breaks > 0 {
		at.line += breaks
		at.column = len(text) - strings.LastIndexByte(text, '\n')
		return
	}
	at.column += len(text)
}

// words are the first words and marks of text.
func words(text string) []string {
	var list []string
	for i := 0; i < len(text) && len(list) < maxWords; {
		end := i
		for end < len(text) && wordByte(text[end]) {
			end++
		}
		switch {
		case end > i:
			list = append(list, text[i:end])
			i = end
		case text[i] <= ' ':
			i++
		default:
			list = append(list, text[i:i+1])
			i++
		}
	}
	return list
}

// DefinesFunction reports whether the piece is the definition of a function as C, C++,
// Java and C# write it: a type, a name, parameters and a block.
func (p Piece) DefinesFunction() bool {
	before, _, ok := strings.Cut(p.Head, "(")
	if !ok || len(p.Head) == len(p.Text) || strings.ContainsAny(before, "=.!+-/%|^?\"'") || strings.Contains(before, "<<") {
		return false
	}
	if p.Is("if", "for", "foreach", "while", "do", "switch", "try", "else", "return", "catch", "case", "using", "lock", "new", "throw", "delete", "goto", "fixed", "synchronized") {
		return false
	}
	return len(p.Words) > 1 && wordByte(p.Words[0][0]) && len(strings.Fields(strings.NewReplacer("*", " ", "&", " ", ">", " ").Replace(before))) > 1
}

// HasFunction reports whether the blanked code names a function so: its name, then a
// parenthesis.
func HasFunction(blank, name string) bool {
	for from := 0; ; {
		i := strings.Index(blank[from:], name)
		if i < 0 {
			return false
		}
		i += from
		from = i + len(name)
		if (i == 0 || !wordByte(blank[i-1])) && strings.HasPrefix(strings.TrimLeft(blank[from:], " \t\r\n"), "(") {
			return true
		}
	}
}
