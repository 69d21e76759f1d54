package main

import (
	"fmt"

	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

// shown says how to lay out standard output, and told how to lay out standard error.
func (a *app) shown() screen.Screen { return screen.Of(a.stdout, a.getenv) }
func (a *app) told() screen.Screen  { return screen.Of(a.stderr, a.getenv) }

// printTable writes rows under a head, within the width of the terminal.
func (a *app) printTable(head []string, rows [][]string) {
	a.printf("%s", a.shown().Table(head, rows))
}

// printFacts writes a name and a value a line, the names one below the other.
func (a *app) printFacts(facts [][2]string) {
	shown, width := a.shown(), 0
	for _, fact := range facts {
		width = max(width, len(fact[0]))
	}
	for _, fact := range facts {
		value := fact[1]
		if fact[0] == "state" {
			value = shown.Paint(screen.StyleOf(value), value)
		}
		a.printf("%s %s\n", shown.Paint(screen.Bold, fmt.Sprintf("%-*s", width, fact[0])), value)
	}
}
