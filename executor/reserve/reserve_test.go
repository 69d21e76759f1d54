package reserve_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt/executor/reserve"
)

// thing is the item of the tests.
type thing struct {
	digest      string
	taken, gone bool
}

func (s *thing) Digest() string      { return s.digest }
func (s *thing) IsGone() bool        { return s.gone }
func (s *thing) SetTaken(taken bool) { s.taken = taken }

// TestReserveHandsOutOnce plays with the reserves of two templates: each item comes out at most once, oldest first, and never
// after it died or was destroyed. Seekers get items in their order, unless they leave.
func TestReserveHandsOutOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reserve.New[*thing]()
		digests := []string{"a", "b"}
		want := map[string][]*thing{}                  // the items that must come out, by digest
		line := map[string][]*reserve.Waiter[*thing]{} // the waiting waiters, by digest
		anything := func(*thing) bool { return true }
		always := func() bool { return true }
		draw := func(t *rapid.T) string { return rapid.SampledFrom(digests).Draw(t, "digest") }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				digest := draw(t)
				s := &thing{digest: digest}
				r.Put(s)
				if len(line[digest]) == 0 {
					want[digest] = append(want[digest], s)
					return
				}
				first := line[digest][0]
				line[digest] = line[digest][1:]
				if given := r.Leave(first); given != s || !s.taken {
					t.Fatalf("who waited first was given %p, not %p", given, s)
				}
			},
			"seek": func(t *rapid.T) {
				digest := draw(t)
				s, in := r.TakeOrWait(digest, anything, always)
				switch list := want[digest]; {
				case len(list) == 0 && s == nil:
					line[digest] = append(line[digest], in)
				case len(list) == 0 || s != list[0] || in != nil:
					t.Fatalf("out came %p", s)
				default:
					want[digest] = list[1:]
				}
			},
			"seek what does not come": func(t *rapid.T) {
				digest := draw(t)
				s, in := r.TakeOrWait(digest, anything, func() bool { return false })
				list := want[digest]
				if len(list) > 0 && s == list[0] {
					want[digest] = list[1:]
				} else if len(list) > 0 || s != nil || in != nil {
					t.Fatalf("out came %p, in line is %p", s, in)
				}
			},
			"turn away": func(t *rapid.T) {
				digest := draw(t)
				r.CancelLast(digest)
				last := len(line[digest]) - 1
				if last < 0 {
					return
				}
				if s, given := <-line[digest][last].Item(); given {
					t.Fatalf("who came last was given %p", s)
				}
				if s := r.Leave(line[digest][last]); s != nil {
					t.Fatalf("who was turned away was given %p", s)
				}
				line[digest] = line[digest][:last]
			},
			"leave": func(t *rapid.T) {
				digest := draw(t)
				waiting := line[digest]
				if len(waiting) == 0 {
					return
				}
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "which")
				if s := r.Leave(waiting[i]); s != nil {
					t.Fatalf("who left was given %p", s)
				}
				line[digest] = append(waiting[:i:i], waiting[i+1:]...)
			},
			"take": func(t *rapid.T) {
				digest := draw(t)
				var next *thing
				if list := want[digest]; len(list) > 0 {
					next, want[digest] = list[0], list[1:]
				}
				s := r.Take(digest, anything)
				if s != next || s != nil && !s.taken {
					t.Fatalf("out came %p, not %p", s, next)
				}
			},
			"put back": func(t *rapid.T) { // always the last one
				digest := draw(t)
				s := r.Take(digest, anything)
				if s == nil {
					return
				}
				want[digest] = want[digest][1:]
				if rapid.Bool().Draw(t, "gone meanwhile") {
					s.gone = true
				}
				r.PutBack(s)
				if !s.gone {
					want[digest] = append(want[digest], s)
				}
				if s.taken != s.gone {
					t.Fatalf("it is taken: %v, and gone: %v", s.taken, s.gone)
				}
			},
			"lose": func(t *rapid.T) {
				digest := draw(t)
				list := want[digest]
				if len(list) == 0 {
					return
				}
				i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
				list[i].gone = true
				if rapid.Bool().Draw(t, "noticed") {
					r.Drop(list[i])
				}
				want[digest] = append(list[:i:i], list[i+1:]...)
			},
			"": func(t *rapid.T) {
				counts := map[string]int{}
				for _, s := range r.List() {
					counts[s.digest]++
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
