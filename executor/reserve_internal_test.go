package executor

import (
	"testing"

	"pgregory.net/rapid"
)

// TestReserveHandsOutOnce plays with the reserves of two templates: what is put in
// comes out once at the most, oldest first, and never after it died or was destroyed.
// Who is in line has the next one, in their order, unless they leave.
func TestReserveHandsOutOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &Executor{reserves: newReserves()}
		digests := []string{"a", "b"}
		want := map[string][]*sandbox{} // by digest, what must come out
		line := map[string][]*seeker{}  // by digest, who waits
		anything := func(*sandbox) bool { return true }
		draw := func(t *rapid.T) string { return rapid.SampledFrom(digests).Draw(t, "digest") }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				digest := draw(t)
				s := &sandbox{digest: digest, template: digest, gone: make(chan struct{})}
				e.reserves.put(s)
				if len(line[digest]) == 0 {
					want[digest] = append(want[digest], s)
					return
				}
				first := line[digest][0]
				line[digest] = line[digest][1:]
				if given := e.reserves.leave(first); given != s || !s.taken.Load() {
					t.Fatalf("who waited first was given %p, not %p", given, s)
				}
			},
			"seek": func(t *rapid.T) {
				digest := draw(t)
				s, in := e.reserves.seek(digest, anything)
				switch list := want[digest]; {
				case len(list) == 0 && s == nil:
					line[digest] = append(line[digest], in)
				case len(list) == 0 || s != list[0] || in != nil:
					t.Fatalf("out came %p", s)
				default:
					want[digest] = list[1:]
				}
			},
			"leave": func(t *rapid.T) {
				digest := draw(t)
				waiting := line[digest]
				if len(waiting) == 0 {
					return
				}
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "which")
				if s := e.reserves.leave(waiting[i]); s != nil {
					t.Fatalf("who left was given %p", s)
				}
				line[digest] = append(waiting[:i:i], waiting[i+1:]...)
			},
			"take": func(t *rapid.T) {
				digest := draw(t)
				var next *sandbox
				if list := want[digest]; len(list) > 0 {
					next, want[digest] = list[0], list[1:]
				}
				s := e.reserves.take(digest, anything)
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
