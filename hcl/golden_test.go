package hcl

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
)

// update returns whether golden files are to be written: go test ./hcl -update
func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files of testdata")
	flag.Parse()
	os.Exit(m.Run())
}

// TestGolden reads every testdata/*.hcl. The expected result is beside it: templates as
// .golden.json, problems as .golden.err.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.hcl")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	templates, err := ParseFiles(file)
	base := strings.TrimSuffix(file, ".hcl")
	want, other, got := base+".golden.json", base+".golden.err", indentJSON(t, templates)
	if err != nil {
		want, other, got = other, want, []byte(err.Error())
	}
	if bad := strings.HasPrefix(filepath.Base(file), "bad-"); bad != (err != nil) {
		t.Errorf("the name says bad = %v, but the error is %v", bad, err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Errorf("%s is there too, and should not", other)
	}
	if update() {
		if err := os.WriteFile(want, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, readErr := os.ReadFile(want)
	if readErr != nil {
		t.Fatalf("%v; write it with -update", readErr)
	}
	if diff := cmp.Diff(string(text), string(got)); diff != "" {
		t.Errorf("differs from %s (- want, + got):\n%s", want, diff)
	}
	if err == nil {
		checkGood(t, templates)
	} else {
		checkError(t, err)
	}
}

// checkGood checks the properties of all templates that were read.
func checkGood(t *testing.T, templates []yurt.Template) {
	t.Helper()
	for _, template := range templates {
		if err := Validate(template); err != nil {
			t.Errorf("%s was read and is not valid: %v", template.Name, err)
		}
		if diff := cmp.Diff(template, WithDefaults(template)); diff != "" {
			t.Errorf("%s was read and is not complete:\n%s", template.Name, diff)
		}
		template.Extends = "" // which is spelled out
		again, err := Parse("encoded.hcl", Encode(template))
		if err != nil {
			t.Errorf("%s does not read back: %v\n%s", template.Name, err, Encode(template))
		} else if diff := cmp.Diff([]yurt.Template{template}, again); diff != "" {
			t.Errorf("%s reads back differently:\n%s", template.Name, diff)
		}
	}
}

// checkError checks the properties of all errors about sources.
func checkError(t *testing.T, err error) {
	t.Helper()
	var e *Error
	var coded *yurt.Error
	if !errors.As(err, &e) || !errors.As(err, &coded) {
		t.Fatalf("the error is a %T", err)
	}
	if coded.Message == "" || strings.Contains(coded.Message, "\n") {
		t.Errorf("the message is not one line: %q", coded.Message)
	}
	if len(e.Diagnostics) == 0 || len(e.Diagnostics) > MaxDiagnostics {
		t.Errorf("there are %d diagnostics", len(e.Diagnostics))
	}
	for _, d := range e.Diagnostics {
		text := d.Summary + d.Detail + d.File + d.Snippet + d.Context + d.Field
		if d.Severity != SeverityError || d.Summary == "" {
			t.Errorf("%+v has no severity or summary", d)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == 0x202e }) {
			t.Errorf("%+q holds control characters", text)
		}
		if d.Line > 0 && (d.Column < 1 || d.EndLine < d.Line || !strings.Contains(d.marker, "^")) {
			t.Errorf("%+v has a place that cannot be", d)
		}
		if n := len([]rune(d.Snippet)); n > maxSnippetRunes+2 {
			t.Errorf("the snippet has %d characters", n)
		}
	}
}

func indentJSON(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
