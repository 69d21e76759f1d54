package packages

import (
	"regexp"
	"slices"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestCompiledCratesAreKept: cargo finds the output of compiled crates, with a build script and a
// procedural macro among them, in each session that needs them, and compiles the program alone.
func TestCompiledCratesAreKept(t *testing.T) {
	t.Parallel()
	e := node(t)
	const (
		manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nitoa = \"=1.0.4\"\npaste = \"=1.0.14\"\n"
		program  = "paste::paste! { fn [<twice _ 64>]() -> u8 { 128 } }\n\nfn main() {\n    println!(\"{}\", itoa::Buffer::new().format(twice_64()));\n}\n"
	)
	said := map[string]string{"CARGO_TERM_QUIET": "false", "CARGO_TERM_VERBOSE": "true"}
	for name, spec := range map[string]yurt.ExecutionSpec{
		"app":  {Language: "rust", Env: said, Entry: "src/main.rs", Files: files("Cargo.toml", manifest, "src/main.rs", program)},
		"main": {Language: "rust", Env: said, Code: program, Dependencies: []string{"itoa@=1.0.4", "paste@=1.0.14"}},
	} {
		for range 2 { // sessions
			s := sandbox(t, e, "rust")
			for range 2 {
				o := run(t, e, s, spec)
				wantOutput(t, o, "128\n")
				fresh, compiled := cratesIn(o.Stderr, "Fresh"), cratesIn(o.Stderr, "Compiling")
				if !slices.Equal(fresh, []string{"itoa", "paste"}) || !slices.Equal(compiled, []string{name}) {
					t.Errorf("%q were there, and %q were compiled; cargo said\n%s", fresh, compiled, o.Stderr)
				}
			}
		}
	}
}

// cratesIn returns the crates of which cargo says a word, sorted.
func cratesIn(said, word string) (crates []string) {
	for _, match := range regexp.MustCompile(`(?m)^ +`+word+` (\S+)`).FindAllStringSubmatch(said, -1) {
		crates = append(crates, match[1])
	}
	slices.Sort(crates)
	return crates
}
