package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

func printTable(w io.Writer, rows []Row) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"what", "who", "p50 ms", "p99 ms", "n", "Yurt is", "goal", "met"})
	for _, row := range rows {
		t.AppendRow(table.Row{row.Name, "Yurt", first(row.P50, row.Value, row.Unit), number(row.P99), row.N, growth(row.Growth), row.Goal, met(row)})
		for _, name := range slices.Sorted(maps.Keys(row.Peers)) {
			peer := row.Peers[name]
			t.AppendRow(table.Row{"", name, first(peer.P50, peer.Value, row.Unit), number(peer.P99), "", verdict(peer.Ratio)})
		}
		t.AppendSeparator()
	}
	t.Render()
	for _, row := range rows {
		if len(row.Phases) > 0 {
			fmt.Fprintf(w, "%s, phases in ms: %s\n", row.Name, phases(row.Phases))
		}
	}
}

// phases lists them, the longest first.
func phases(took map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(took), func(a, b string) int {
		if took[a] != took[b] && took[a] < took[b] {
			return 1
		}
		return -1
	})
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, name+" "+number(took[name]))
	}
	return strings.Join(list, ", ")
}

// first is a duration, or the value of a row without one.
func first(ms, value float64, unit string) string {
	digits := 0
	if value < 10 {
		digits = 2
	}
	if value != 0 {
		return fmt.Sprintf("%.*f %s", digits, value, unit)
	}
	return number(ms)
}

func number(ms float64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", ms)
}

func met(row Row) string {
	switch {
	case row.Goal == "":
		return ""
	case row.Met:
		return "yes"
	default:
		return "NO"
	}
}

func growth(times float64) string {
	if times == 0 {
		return ""
	}
	return fmt.Sprintf("last creates %.2f × the first", times)
}

func verdict(ratio float64) string {
	switch {
	case ratio == 0:
		return ""
	case ratio >= 1:
		return fmt.Sprintf("%.2f times faster", ratio)
	default:
		return fmt.Sprintf("%.2f times slower", 1/ratio)
	}
}
