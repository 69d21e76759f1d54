package records_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/executor/records"
)

type note struct {
	Version int    `json:"version"`
	Text    string `json:"text"`
}

func TestRecordThatIsTorn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "record")
	if err := records.Write(path, note{Version: 1, Text: "as it was"}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := records.Read(path, new(note)); err == nil {
			t.Errorf("cut at %d it was believed", cut)
		}
	}
	// A write that fails leaves the old content.
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := records.Write(path, note{Version: 2}); err == nil {
		t.Error("it was written where nothing can be")
	}
	var got note
	if err := records.Read(path, &got); err != nil || got.Version != 1 {
		t.Errorf("the old one is %+v, %v", got, err)
	}
}

// TestRecordOfANewerVersion: a newer version is told apart from damage, independent of the other content.
func TestRecordOfANewerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	for text, newer := range map[string]bool{`{"version":2}`: false, `{"version":1,"text":"x"}`: false, `{"version":3,"text":{}}`: true} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := records.CheckVersion(path); errors.Is(err, records.ErrNewer) != newer || !newer && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "null}", `{"version":"3"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := records.CheckVersion(path); err == nil || errors.Is(err, records.ErrNewer) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
