package hcl

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addSources adds every source of the golden tests and of the attacks as a seed.
func addSources(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.hcl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, a := range attacks() {
		if len(a.src) < 4096 {
			f.Add([]byte(a.src))
		}
	}
}

// FuzzParse: any text gives valid templates that can be written and read again, or
// an error that can be shown.
func FuzzParse(f *testing.F) {
	addSources(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		templates, err := Parse("fuzz.hcl", src)
		if err != nil {
			checkError(t, err)
			return
		}
		checkGood(t, templates)
	})
}

// FuzzFormat: formatting changes no meaning, and formatted text stays as it is.
func FuzzFormat(f *testing.F) {
	addSources(f)
	f.Add([]byte("a=1\nb   {\nc={d=1\n}\n}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		once, err := Format(src)
		if err != nil {
			checkError(t, err)
			return
		}
		before, errBefore := Parse("fuzz.hcl", src)
		after, errAfter := Parse("fuzz.hcl", once)
		if (errBefore == nil) != (errAfter == nil) {
			t.Fatalf("before: %v\nafter: %v\n%s", errBefore, errAfter, once)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the meaning changed:\n%s", diff)
		}
	})
}

// FuzzParseJSON: any text gives a valid template that its own JSON gives again, or
// an error that can be shown.
func FuzzParseJSON(f *testing.F) {
	for _, tt := range badJSON() {
		f.Add([]byte(tt.src))
	}
	f.Add([]byte(fullJSON))
	f.Fuzz(func(t *testing.T, src []byte) {
		template, err := ParseJSON(src)
		if err != nil {
			checkError(t, err)
			return
		}
		if err := Validate(template); err != nil {
			t.Fatalf("read, and not valid: %v", err)
		}
		body, err := json.Marshal(template)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseJSON(body)
		if err != nil {
			t.Fatalf("does not read again: %v\n%s", err, body)
		}
		if diff := cmp.Diff(template, again); diff != "" {
			t.Errorf("reads differently:\n%s", diff)
		}
		if !bytes.Equal(Encode(template), Encode(again)) {
			t.Error("is written differently")
		}
	})
}
