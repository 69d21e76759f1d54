package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// screen prints the demo. Colours are used only where a person looks on.
type screen struct {
	out   io.Writer
	color bool
	begun time.Time
	step  int
}

func newScreen(out *os.File) *screen {
	info, err := out.Stat()
	tty := err == nil && info.Mode()&os.ModeCharDevice != 0
	_, plain := os.LookupEnv("NO_COLOR")
	return &screen{out: out, color: tty && !plain, begun: time.Now()}
}

// The few colours of the demo, as SGR parameters.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

func (s *screen) paint(sgr, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

func (s *screen) line(text string) { fmt.Fprintln(s.out, strings.TrimRight(text, " ")) }

// heading begins a step.
func (s *screen) heading(title string) {
	s.step++
	label := fmt.Sprintf("%d  %s ", s.step, title)
	s.line("")
	s.line(s.paint(bold+";"+cyan, label+strings.Repeat("─", max(4, 78-len([]rune(label))))))
}

// say announces the next step.
func (s *screen) say(text string) { s.line("   " + text) }

// source shows code that a request carries.
func (s *screen) source(name, text string) {
	s.line("   " + s.paint(dim, name))
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		s.line("   " + s.paint(dim, "│ ") + strings.TrimRight(line, "\n"))
	}
}

// request shows a request as the command line that would send it.
func (s *screen) request(command string) {
	s.line("   " + s.paint(bold, "$ "+command))
}

// answer shows the response, indented.
func (s *screen) answer(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		s.line("     " + strings.TrimRight(line, "\n"))
	}
}

// proved states a claim that has been checked.
func (s *screen) proved(format string, args ...any) {
	s.line("   " + s.paint(green, "✓ "+fmt.Sprintf(format, args...)))
}

// failed states the claim that did not hold.
func (s *screen) failed(err error) {
	s.line("")
	s.line("   " + s.paint(bold+";"+red, "✗ "+err.Error()))
}
