package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/hcl"
)

func newFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("server", pflag.ContinueOnError)
	flags.Int("max-queue", 0, "how many may wait")
	flags.Float64("overcommit", 0, "how often")
	flags.Duration("stay-awake", 0, "for how long")
	flags.StringSlice("tools", nil, "which tools")
	flags.Bool("keep", false, "whether to keep")
	flags.String("store", "", "the database")
	flags.String("size", "1Gi", "how large")
	AddFile(flags)
	Secret(flags, "store")
	return flags
}

func variables(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMistakes: each mistake in a file is an error with its place, the source line and the next step.
func TestMistakes(t *testing.T) {
	for text, want := range map[string][]string{
		"max_que = 3\n":                             {"Unknown setting", `Did you mean "max_queue"?`, "line 1, column 1", "max_que = 3"},
		"max-queue = 3\n":                           {"line 1"},
		"config = \"x\"\n":                          {"There is no setting \"config\""},
		"\nmax_queue = \"3\"\n":                     {"line 2, column 13", "takes a number without quotes"},
		"max_queue = 2.5\n":                         {"is no value of max_queue"},
		"max_queue = -\"a\"\n":                      {"line 1"},
		"keep = \"true\"\n":                         {"takes true or false, without quotes"},
		"stay_awake = 5\n":                          {"a duration in quotes"},
		"stay_awake = \"soon\"\n":                   {`"soon" is no value of stay_awake`},
		"tools = [1]\n":                             {"a list holds texts in quotes"},
		"tools = 1\n":                               {"a list of texts"},
		"size = [\"a\"]\n":                          {"a text in quotes"},
		"size = null\n":                             {"null is no value"},
		"size = other\n":                            {"is a constant"},
		"size = { a = 1 }\n":                        {"give a text in quotes, a number"},
		"server {\n}\n":                             {"Unexpected block"},
		"max_queue = 1\nmax_queue = 2\n":            {"line 2"},
		"max_queue = \n":                            {"line 1"},
		"max_queue = 1e999999999\n":                 {"Number too large"},
		"size = " + strings.Repeat("[", 100) + "\n": {"Nested too deeply"},
		"store = [\"hunter2\", 3]\n":                {"a list holds texts"},
		"store = true\n":                            {"takes a text in quotes, and not (secret)"},
		strings.Repeat("# long\n", hcl.MaxSourceBytes/7+1): {"Source too large"},
	} {
		path := write(t, t.TempDir(), "s.hcl", text)
		flags := newFlags()
		if err := flags.Set(fileFlag, path); err != nil {
			t.Fatal(err)
		}
		_, err := Read(flags, variables())
		if yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("%.40q gives %v, want an invalid argument", text, err)
			continue
		}
		var placed *hcl.Error
		if !errors.As(err, &placed) {
			t.Errorf("%.40q gives an error without its place: %v", text, err)
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%.40q gives %q, want %q in it", text, err, part)
			}
		}
	}
}

// TestPrecedence: a flag wins over a variable, and that over the last file of a directory.
func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "10-first.hcl", "max_queue = 1\nstay_awake = \"1s\"\nsize = \"1Mi\"\nkeep = true\n")
	write(t, dir, "20-second.hcl", "max_queue = 2\nstay_awake = \"2s\"\nsize = 2048\n")
	write(t, dir, "README", "not a setting")
	flags := newFlags()
	for name, value := range map[string]string{fileFlag: dir, "max-queue": "4"} {
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := Read(flags, variables("YURT_MAX_QUEUE", "3", "YURT_STAY_AWAKE", "3s"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{
		"max_queue":  {"4", "flag --max-queue"},
		"stay_awake": {"3s", "environment YURT_STAY_AWAKE"},
		"size":       {"2048", "file " + filepath.Join(dir, "20-second.hcl") + ":3"},
		"keep":       {"true", "file " + filepath.Join(dir, "10-first.hcl") + ":4"},
		"tools":      {"[]", "default"},
		"store":      {"", "default"},
		"overcommit": {"0", "default"},
	}
	for _, v := range settings.Values {
		if got := [2]string{v.Value, v.Origin}; got != want[v.Name] {
			t.Errorf("%s is %q, want %q", v.Name, got, want[v.Name])
		}
	}
	if len(settings.Values) != len(want) {
		t.Errorf("there are %d settings, want %d", len(settings.Values), len(want))
	}
	if got, _ := flags.GetDuration("stay-awake"); got != 3*time.Second {
		t.Errorf("the flag is %s, want 3s", got)
	}
}

// TestSecrets: the value of a secret appears neither in the printed settings nor in an error.
func TestSecrets(t *testing.T) {
	const secret = "postgres://yurt:hunter2@db/yurt"
	flags := newFlags()
	settings, err := Read(flags, variables("YURT_STORE", secret))
	if err != nil {
		t.Fatal(err)
	}
	if flags.Lookup("store").Value.String() != secret {
		t.Error("the server does not get the secret")
	}
	for _, v := range settings.Values {
		if strings.Contains(v.Value, "hunter2") || v.Name == "store" && v.Value != Hidden {
			t.Errorf("%s shows %q", v.Name, v.Value)
		}
	}
}

// TestExplain: an error of a check says where the value is in the file.
func TestExplain(t *testing.T) {
	path := write(t, t.TempDir(), "s.hcl", "# bounds\nmax_queue = -3\n")
	flags := newFlags()
	if err := flags.Set(fileFlag, path); err != nil {
		t.Fatal(err)
	}
	settings, err := Read(flags, variables())
	if err != nil {
		t.Fatal(err)
	}
	other := errors.New("another part failed")
	err = settings.Explain(errors.Join(yurt.FieldErrorf(yurt.CodeInvalidArgument, "--max-queue", "-3 is out of range"), other))
	for _, want := range []string{"s.hcl line 2, column 13", "max_queue = -3", "^^", "-3 is out of range", other.Error()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want %q in it", err, want)
		}
	}
	if got := settings.Explain(other); !errors.Is(got, other) {
		t.Errorf("an error about no setting became %v", got)
	}
}

func TestFilesThatAreNotThere(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "none.hcl"), t.TempDir()} {
		flags := newFlags()
		if _, err := Read(flags, variables("YURT_CONFIG", path)); err == nil || !strings.Contains(err.Error(), "--config") {
			t.Errorf("%s gives %v, want an error about --config", path, err)
		}
	}
}

// FuzzRead: any text gives settings, or an error that can be shown.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"max_queue = 1\n", "tools = [\"a\"]\n", "size = \"${1}\"\n", "x {}\n", "a = [for x in [1,2] : x]\n", "size = <<E\na\nE\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		flags := newFlags()
		if err := flags.Set(fileFlag, write(t, t.TempDir(), "s.hcl", string(text))); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(flags, variables()); err != nil && (yurt.CodeOf(err) != yurt.CodeInvalidArgument || err.Error() == "") {
			t.Fatalf("the error is %v", err)
		}
	})
}
