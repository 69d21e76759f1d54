package screen

import (
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

const (
	// terminalWidth is the width, in columns, of a terminal that does not tell its own.
	terminalWidth = 80
	// leastWidth keeps a terminal of a few columns from a table of single letters.
	leastWidth = 40
)

// Screen says how to lay out text for one stream.
type Screen struct {
	Width    int  // columns; 0 for any number
	Color    bool // escape sequences are welcome
	Terminal bool // a person sees the text as it is written
}

// Of returns the screen behind a stream. getenv looks up a variable of the environment:
// colours are off where NO_COLOR is set to anything, and where TERM is "dumb". Output that goes to
// no terminal has no width, since programs read it line by line.
func Of(stream any, getenv func(string) (string, bool)) Screen {
	var s Screen
	file, ok := stream.(*os.File)
	if !ok || !isatty.IsTerminal(file.Fd()) {
		return s
	}
	s.Terminal, s.Width = true, terminalWidth
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		s.Width = max(width, leastWidth)
	}
	noColor, _ := getenv("NO_COLOR")
	kind, _ := getenv("TERM")
	s.Color = noColor == "" && kind != "dumb"
	return s
}

// Style is a way to show a piece of text.
type Style string

// The styles, as parameters of the escape sequence that selects them.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint returns text in a style, or as it is where colours are off.
func (s Screen) Paint(style Style, text string) string {
	if !s.Color || style == Plain || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// StyleOf returns the style of a state: green for one that is well, yellow for one that
// needs attention, red for one that failed.
func StyleOf(state string) Style {
	switch state {
	case "ready", "running", "idle", "busy", "in_force", "succeeded", "ok":
		return Green
	case "creating", "pending", "paused", "draining", "degraded", "partial":
		return Yellow
	case "failed", "missing", "down":
		return Red
	case "terminated":
		return Faint
	default:
		return Plain
	}
}

// ClearLine removes the line that the cursor is on from a terminal.
func ClearLine(w io.Writer) { _, _ = io.WriteString(w, "\r\x1b[K") }
