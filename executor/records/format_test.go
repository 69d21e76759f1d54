package records_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/records"
)

// TestFormat: a program begins with directories of its own format and of older ones, and refuses a format that it cannot read.
func TestFormat(t *testing.T) {
	for text, says := range map[string][]string{
		"":                           {"0 bytes", "unexpected end"},
		`{"format":1,"yu`:            {"15 bytes", "unexpected end"},
		"{}":                         {"its format is 0"},
		"null":                       {"its format is 0"},
		`{"format":-1}`:              {"its format is -1"},
		`{"format":"2"}`:             {"not the JSON"},
		"\x00\x00":                   {"not the JSON"},
		`{"format":1,"yurt":"v1"}`:   nil,
		`{"format":1,"more":true}`:   nil,
		`{"format":2,"yurt":"v9.0"}`: {"format 2", `"v9.0"`, `"v1.5"`, "up to 1", "Start"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, records.FormatFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := records.CheckFormat(dir, "v1.5")
		if (err == nil) != (says == nil) || err != nil && yurt.CodeOf(err) != yurt.CodeUnavailable {
			t.Errorf("%q: %v", text, err)
		}
		for _, part := range append(says, dir) {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %q is not in %v", text, part, err)
			}
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%q: it became %q, %v", text, now, err)
		}
	}
}

// TestFormatIsWrittenOnce: the first program to write it stays named, and no other file lies beside it.
func TestFormatIsWrittenOnce(t *testing.T) {
	dir := t.TempDir()
	for _, program := range []string{"v1", "v1.1"} {
		if err := records.CheckFormat(dir, program); err != nil {
			t.Fatal(err)
		}
		if err := records.WriteFormat(dir, program); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, records.FormatFile))
	if err != nil || string(data) != `{"format":1,"yurt":"v1"}` {
		t.Errorf("it says %s, %v", data, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("there are %v, %v", entries, err)
	}
	if err := records.WriteFormat(filepath.Join(dir, "none"), "v1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no directory: %v", err)
	}
}

// TestFormatIsWrittenAnew: the error about a damaged file has the command that mends it.
func TestFormatIsWrittenAnew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, records.FormatFile)
	if err := os.WriteFile(path, []byte(`{"format":1,"yu`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, command, found := strings.Cut(fmt.Sprint(records.CheckFormat(dir, "v1.5")), "write the file anew: ")
	if !found {
		t.Fatal("the error has no command")
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v, %s", command, err, out)
	}
	if err := records.CheckFormat(dir, "v1.5"); err != nil {
		t.Errorf("after %s: %v", command, err)
	}
}
