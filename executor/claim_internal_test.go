package executor

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
)

// TestReserveHandsOutOnce plays with the reserves of two templates: what is put in
// comes out once at the most, oldest first, and never after it died or was destroyed.
func TestReserveHandsOutOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &Executor{reserves: make(map[string]*reserve)}
		templates := []yurt.Template{{Name: "a"}, {Name: "b"}}
		want := map[string][]*sandbox{} // by template, what must come out
		draw := func(t *rapid.T) yurt.Template { return rapid.SampledFrom(templates).Draw(t, "template") }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				template := draw(t)
				s := &sandbox{record: sandboxRecord{Spec: yurt.SandboxSpec{Template: template}, Warm: true}}
				e.reserve(s)
				want[template.Name] = append(want[template.Name], s)
			},
			"take": func(t *rapid.T) {
				template := draw(t)
				var next *sandbox
				if list := want[template.Name]; len(list) > 0 {
					next, want[template.Name] = list[0], list[1:]
				}
				if s := e.takeReserved(template.Digest()); s != next {
					t.Fatalf("out came %p, not %p", s, next)
				}
			},
			"lose": func(t *rapid.T) {
				template := draw(t)
				list := want[template.Name]
				if len(list) == 0 {
					return
				}
				i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
				if rapid.Bool().Draw(t, "dies") {
					list[i].dead = "it died"
				} else {
					list[i].ending = true
				}
				want[template.Name] = append(list[:i:i], list[i+1:]...)
			},
			"": func(t *rapid.T) {
				counts := map[string]int{}
				list, err := e.Reserves(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list {
					counts[r.Template] = r.Ready
				}
				for _, template := range templates {
					if counts[template.Name] != len(want[template.Name]) {
						t.Fatalf("template %s has %d ready, not %d", template.Name, counts[template.Name], len(want[template.Name]))
					}
				}
			},
		})
	})
}
