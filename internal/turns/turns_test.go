package turns_test

import (
	"slices"
	"testing"

	"github.com/yurtrun/yurt/internal/turns"
)

// TestGroupsTakeTurns: a caller of a second group waits for one caller of a group with a thousand, and each group keeps its order.
func TestGroupsTakeTurns(t *testing.T) {
	var line turns.Line[int]
	for i := range 1000 {
		line.Add("many", i)
	}
	line.Add("few", -1)
	line.Add("few", -2)
	line.Add("one", -9)
	var order []int
	for range 7 {
		caller, ok := line.Next()
		if !ok {
			t.Fatal("the line is empty")
		}
		order = append(order, caller)
	}
	if want := []int{0, -1, -9, 1, -2, 2, 3}; !slices.Equal(order, want) {
		t.Errorf("the order was %d, want %d", order, want)
	}
	if line.Len() != 996 || line.Waiting("many") != 996 || line.Waiting("few") != 0 {
		t.Errorf("%d wait, %d of them of the first group and %d of the second", line.Len(), line.Waiting("many"), line.Waiting("few"))
	}
}

// TestRemoved: a caller that left is not given a turn, and a group without callers has no turn.
func TestRemoved(t *testing.T) {
	var line turns.Line[string]
	line.Add("a", "a1")
	line.Add("b", "b1")
	line.Add("a", "a2")
	if !line.Remove("a", "a1") || line.Remove("a", "a1") || !line.Remove("b", "b1") {
		t.Error("a caller could not be removed, or was removed twice")
	}
	if caller, ok := line.Next(); !ok || caller != "a2" {
		t.Errorf("next came %q, want a2", caller)
	}
	if caller, ok := line.Next(); ok {
		t.Errorf("%q came out of an empty line", caller)
	}
}

// TestDisplaced: in a full line the group with the most callers makes room, and no group displaces one that has as many as itself.
func TestDisplaced(t *testing.T) {
	var line turns.Line[string]
	for _, name := range []string{"a1", "a2", "a3"} {
		line.Add("a", name)
	}
	if caller, ok := line.Displace("b"); !ok || caller != "a3" {
		t.Errorf("%q was displaced, want a3", caller)
	}
	line.Add("b", "b1")
	for _, group := range []string{"a", "b"} {
		if caller, ok := line.Displace(group); ok {
			t.Errorf("%s, which would be the longest, displaced %q", group, caller)
		}
	}
}
