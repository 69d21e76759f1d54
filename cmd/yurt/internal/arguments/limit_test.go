package arguments_test

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt/cmd/yurt/internal/arguments"
)

// TestLimit: a limit cuts a list at either end, and without one the list is whole.
func TestLimit(t *testing.T) {
	list := []int{1, 2, 3}
	for text, want := range map[string][2][]int{"": {list, list}, "2": {{1, 2}, {2, 3}}, "3": {list, list}, "4": {list, list}} {
		var limit arguments.Limit
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		limit.Add(flags, "the first")
		if text != "" {
			if err := flags.Parse([]string{"--limit", text}); err != nil {
				t.Fatal(err)
			}
		}
		if first, last := arguments.First(list, limit), arguments.Last(list, limit); !slices.Equal(first, want[0]) || !slices.Equal(last, want[1]) {
			t.Errorf("with the limit %q the first are %v and the last %v, want %v", text, first, last, want)
		}
	}
	for _, text := range []string{"0", "-1", "x", "1.5", "99999999999"} {
		var limit arguments.Limit
		if limit.Set(text) == nil {
			t.Errorf("the limit %q is taken as %d", text, limit)
		}
	}
}
