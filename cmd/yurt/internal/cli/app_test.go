package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

func TestCommandOf(t *testing.T) {
	tests := []struct {
		words []string
		want  yurtclient.Command
	}{
		{[]string{"ls"}, yurtclient.Command{Argv: []string{"ls"}}},
		{[]string{"ls", "-l", "a b"}, yurtclient.Command{Argv: []string{"ls", "-l", "a b"}}},
		{[]string{"ls -l"}, yurtclient.Command{Shell: "ls -l"}},
		{[]string{"ls|wc"}, yurtclient.Command{Shell: "ls|wc"}},
		{[]string{"echo", "--", "x"}, yurtclient.Command{Argv: []string{"echo", "--", "x"}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, CommandOf(tt.words)); diff != "" {
			t.Errorf("commandOf(%q): %s", tt.words, diff)
		}
	}
}

func TestParseEnv(t *testing.T) {
	a := &App{Getenv: func(name string) (string, bool) { return "here", name == "SET" }}
	got, err := a.ParseEnv([]string{"A=1", "B=", "C=x=y", "SET", "A=2"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"A": "2", "B": "", "C": "x=y", "SET": "here"}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"UNSET", "=x", "A B=c"} {
		if _, err := a.ParseEnv([]string{bad}); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("parseEnv(%q) = %v, want an invalid argument", bad, err)
		}
	}
}

func TestStateDir(t *testing.T) {
	tests := []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"YURT_STATE_DIR": "/a", "XDG_STATE_HOME": "/x"}, "/a"},
		{map[string]string{"XDG_STATE_HOME": "/x"}, "/x/yurt"},
		{map[string]string{"XDG_STATE_HOME": "x", "YURT_STATE_DIR": "b"}, "b"},
	}
	for _, tt := range tests {
		a := &App{Getenv: func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }}
		if got, err := a.StateDir(); got != tt.want || err != nil {
			t.Errorf("stateDir with %v = %q, %v; want %q", tt.env, got, err, tt.want)
		}
	}
}
