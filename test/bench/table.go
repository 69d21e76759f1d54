package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
)

func printTable(w io.Writer, rows []Row) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"what", "who", "p50 ms", "p99 ms", "n", "Yurt is"})
	for _, row := range rows {
		t.AppendRow(table.Row{row.Name, "Yurt", number(row.P50), number(row.P99), row.N, ""})
		for _, name := range slices.Sorted(maps.Keys(row.Peers)) {
			peer := row.Peers[name]
			t.AppendRow(table.Row{"", name, number(peer.P50), number(peer.P99), "", verdict(peer.Ratio)})
		}
		t.AppendSeparator()
	}
	t.Render()
}

func number(ms float64) string { return fmt.Sprintf("%.2f", ms) }

func verdict(ratio float64) string {
	if ratio >= 1 {
		return fmt.Sprintf("%.2f times faster", ratio)
	}
	return fmt.Sprintf("%.2f times slower", 1/ratio)
}
