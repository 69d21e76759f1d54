package executor

import (
	"testing"

	"pgregory.net/rapid"
)

// TestReserveHandsOutOnce plays with the reserves of two templates: what is put in
// comes out once at the most, oldest first, and never after it died or was destroyed.
func TestReserveHandsOutOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &Executor{reserves: newReserves()}
		digests := []string{"a", "b"}
		want := map[string][]*sandbox{} // by digest, what must come out
		draw := func(t *rapid.T) string { return rapid.SampledFrom(digests).Draw(t, "digest") }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				digest := draw(t)
				s := &sandbox{digest: digest, template: digest, gone: make(chan struct{})}
				e.reserves.put(s)
				want[digest] = append(want[digest], s)
			},
			"take": func(t *rapid.T) {
				digest := draw(t)
				var next *sandbox
				if list := want[digest]; len(list) > 0 {
					next, want[digest] = list[0], list[1:]
				}
				s := e.reserves.take(digest, func(*sandbox) bool { return true })
				if s != next || s != nil && !s.taken.Load() {
					t.Fatalf("out came %p, not %p", s, next)
				}
			},
			"lose": func(t *rapid.T) {
				digest := draw(t)
				list := want[digest]
				if len(list) == 0 {
					return
				}
				i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
				close(list[i].gone)
				if rapid.Bool().Draw(t, "noticed") {
					e.reserves.drop(list[i])
				}
				want[digest] = append(list[:i:i], list[i+1:]...)
			},
			"": func(t *rapid.T) {
				counts := map[string]int{}
				list, err := e.Reserves(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list {
					counts[r.Digest] = r.Ready
				}
				for _, digest := range digests {
					if counts[digest] != len(want[digest]) {
						t.Fatalf("of %s %d are ready, not %d", digest, counts[digest], len(want[digest]))
					}
				}
			},
		})
	})
}
