package cli

import (
	"fmt"

	"github.com/yurtrun/yurt/cmd/yurt/internal/screen"
)

// shown says how to lay out standard output, and told how to lay out standard error.
func (a *App) shown() screen.Screen { return screen.Of(a.Stdout, a.Getenv) }

// Told is the screen that standard error is.
func (a *App) Told() screen.Screen { return screen.Of(a.Stderr, a.Getenv) }

// PrintTable writes rows under a head, within the width of the terminal.
func (a *App) PrintTable(head []string, rows [][]string) {
	a.Printf("%s", a.shown().Table(head, rows))
}

// PrintFacts writes a name and a value a line, the names one below the other.
func (a *App) PrintFacts(facts [][2]string) {
	shown, width := a.shown(), 0
	for _, fact := range facts {
		width = max(width, len(fact[0]))
	}
	for _, fact := range facts {
		value := fact[1]
		if fact[0] == "state" {
			value = shown.Paint(screen.StyleOf(value), value)
		}
		a.Printf("%s %s\n", shown.Paint(screen.Bold, fmt.Sprintf("%-*s", width, fact[0])), value)
	}
}
