package shortage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

func TestAllowance(t *testing.T) {
	var g Guard
	for n := range int64(Burst) {
		if err := g.Await(t.Context(), nil); err != nil || g.over() > 0 {
			t.Fatalf("after %d ends the next process waits: %v", n, err)
		}
		if !g.Note("leaf", n+1) {
			t.Fatalf("the end %d is not new", n+1)
		}
	}
	if g.Note("leaf", Burst) {
		t.Error("an end that is known counted again")
	}
	g.Note("another", 1)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := g.Await(short, nil); yurt.CodeOf(err) != yurt.CodeOverloaded || !strings.Contains(err.Error(), "resources.memory") {
		t.Errorf("a caller that cannot wait so long gets %v", err)
	}
	began := time.Now()
	if err := g.Await(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second || took > 4*time.Second {
		t.Errorf("the next process waited for %s, want about 2 s", took)
	}
	for n := range 100 {
		g.Note(fmt.Sprint(n), 1)
	}
	if over := g.over(); over > 4*time.Second {
		t.Errorf("after 100 ends at once the next process waits for %s, want at most 3 s", over)
	}
	gone := make(chan struct{})
	close(gone)
	if err := g.Await(t.Context(), gone); err != nil {
		t.Errorf("with the end of the sandbox the wait ends with %v", err)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := g.Await(left, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left gets %v", err)
	}
}

// TestTotal: the count of ends is kept for the next executor, in which no end counts twice.
func TestTotal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shortage.json")
	first := Guard{Path: path}
	first.remember("before", 1)
	first.Note("leaf", 2)
	first.Note("gone", 1)
	if total := first.Total(); total != 4 {
		t.Fatalf("%d ends were counted, want 4", total)
	}
	next := Guard{Path: path}
	if total := next.Total(); total != 4 {
		t.Errorf("the next executor counts %d ends at its start, want 4", total)
	}
	next.remember("leaf", 3) // one more, between the two
	next.Note("leaf", 4)
	if total := next.Total(); total != 6 {
		t.Errorf("the next executor counts %d ends after two more, want 6", total)
	}
	if over := next.debt; over != 1 {
		t.Errorf("%v ends are on its allowance, want 1", over)
	}
}
