package screen

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/mattn/go-runewidth"
)

const (
	gap = 2 // columns between two cells of a line
	// wordWidth is how wide a column stays for its longest word, so that ids stay whole.
	wordWidth = 30
	// lastWidth is how narrow the last column may become when the others have given all.
	lastWidth = 12
)

// Table returns rows under a head, with two spaces between columns and without lines, so
// that it reads well and cuts well. A table that is too wide wraps the text of its widest
// columns at spaces; the first column stays whole. Without a width each row is one line. The cells of a column named "state"
// have colours.
func (s Screen) Table(head []string, rows [][]string) string {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	widths := fit(head, rows, s.Width)
	configs := make([]table.ColumnConfig, len(head))
	names := make(table.Row, len(head))
	for i, name := range head {
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: widths[i], WidthMaxEnforcer: text.WrapSoft}
		names[i] = s.Paint(Bold, strings.ToUpper(name))
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(names)
	for _, row := range rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			if strings.EqualFold(head[i], "state") {
				cell = s.Paint(StyleOf(cell), cell)
			}
			cells[i] = cell
		}
		t.AppendRow(cells)
	}
	return t.Render() + "\n"
}

// fit returns the width of each column, so that the table takes at most width columns where
// that can be had: the widest column gives first, down to its longest word.
func fit(head []string, rows [][]string, width int) []int {
	widths, least := make([]int, len(head)), make([]int, len(head))
	total := gap * (len(head) - 1)
	for i, name := range head {
		widths[i] = runewidth.StringWidth(name)
		longest := longestWord(name)
		for _, row := range rows {
			widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
			longest = max(longest, longestWord(row[i]))
		}
		least[i] = min(longest, wordWidth)
		total += widths[i]
	}
	if width == 0 {
		return widths
	}
	least[0] = widths[0]
	give := func(i int) {
		part := min(max(total-width, 0), max(widths[i]-least[i], 0))
		widths[i], total = widths[i]-part, total-part
	}
	for total > width {
		widest, next := widestTwo(widths, least)
		if widest < 0 {
			break
		}
		part := min(max(widths[widest]-next, 1), widths[widest]-least[widest], total-width)
		widths[widest], total = widths[widest]-part, total-part
	}
	last := len(head) - 1
	least[last] = min(least[last], max(lastWidth, longestWord(head[last])))
	if last > 0 {
		give(last)
	}
	return widths
}

// widestTwo returns the index of the widest column that can give, or -1, and the width of
// the one that follows it.
func widestTwo(widths, least []int) (widest, next int) {
	widest = -1
	for i := range widths {
		switch {
		case widths[i] <= least[i]:
		case widest < 0 || widths[i] > widths[widest]:
			if widest >= 0 {
				next = widths[widest]
			}
			widest = i
		default:
			next = max(next, widths[i])
		}
	}
	return widest, next
}

func longestWord(text string) int {
	words := strings.Fields(text)
	if len(words) == 0 {
		return 0
	}
	return runewidth.StringWidth(slices.MaxFunc(words, func(a, b string) int {
		return runewidth.StringWidth(a) - runewidth.StringWidth(b)
	}))
}
