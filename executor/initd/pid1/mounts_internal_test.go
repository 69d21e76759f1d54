package pid1

import (
	"strings"
	"testing"
)

func TestParseMount(t *testing.T) {
	got, err := parseMount("tmpfs /tmp 6 mode=1777,size=4096")
	if want := (mount{"tmpfs", "/tmp", "tmpfs", 6, "mode=1777,size=4096"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, text := range []string{"", "tmpfs /tmp 6", "tmpfs /tmp six mode=1777", "tmpfs /tmp -1 mode=1777"} {
		if got, err := parseMount(text); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

// TestMountsThatFail: init does not go on after a mount that fails.
func TestMountsThatFail(t *testing.T) {
	for name, m := range map[string]mounts{
		"file system": {list: []mount{{"tmpfs", "/nonexistent", "tmpfs", 0, ""}}},
		"mask":        {masked: []string{strings.Repeat("x", 300)}},
	} {
		if _, err := m.make(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
