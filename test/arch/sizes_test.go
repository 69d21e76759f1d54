package arch

import (
	"maps"
	"testing"
)

func TestSizes(t *testing.T) {
	granted := map[string]Exception{}
	for _, e := range Exceptions() {
		granted[e.Of] = e
	}
	all := map[string]int{}
	for _, p := range ours(t) {
		name, _ := p.Rel()
		files := sources(t)[p.ImportPath]
		for _, s := range files {
			all[s.Path+" lines"] = s.lines()
		}
		sizes := Measure(files)
		maps.Copy(all, sizes.All(name))
		for _, broken := range CheckSizes(name, sizes, granted) {
			t.Error(broken)
		}
	}
	for _, broken := range CheckExceptions(Exceptions(), all) {
		t.Error(broken)
	}
}

func TestCheckSizesFindsWhatIsWrong(t *testing.T) {
	sizes := Measure([]Source{parse(t, "x/x.go", `package x
type T[K any] struct{}
func (t *T[K]) A() {}
func (t T[K]) B() {}
type I interface { A(); B(); C() }
`), parse(t, "x/x_test.go", "package x\nfunc (t T) C() {}")})
	if sizes.Files != 1 || sizes.Lines != 5 || sizes.Methods["T"] != 2 || sizes.Interfaces["I"] != 3 {
		t.Fatalf("measures %+v, want 1 file of 5 lines, T with 2 methods and I with 3", sizes)
	}
	large := Sizes{Files: MaxFiles + 1, Lines: MaxLines, Methods: map[string]int{"T": MaxMethods}}
	expect(t, "26 files", CheckSizes("x", large, nil), "x files: 26")
	expect(t, "26 files with an exception", CheckSizes("x", large, map[string]Exception{"x files": {Most: 26}}), "")
	expect(t, "41 methods", CheckSizes("x", Sizes{Methods: map[string]int{"T": MaxMethods + 1}}, nil), "x.T: 41")
	expect(t, "10 methods of an interface", CheckSizes("x", Sizes{Interfaces: map[string]int{"I": MaxInterfaceMethods + 1}}, nil), "x.I: 10")
}

func TestCheckExceptionsFindsWhatIsWrong(t *testing.T) {
	sizes := map[string]int{"x files": 30}
	expect(t, "needed", CheckExceptions([]Exception{{"x files", 30, "because", "2026-11-24"}}, sizes), "")
	expect(t, "no reason", CheckExceptions([]Exception{{"x files", 30, "", "2026-11-24"}}, sizes), "reason")
	expect(t, "gone", CheckExceptions([]Exception{{"y files", 30, "because", "2026-11-24"}}, sizes), "delete")
}
