package pkgcommand

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/executor/pkgsocket"
)

// parseLine parses a command line in an empty directory with that package.json.
func parseLine(t *testing.T, line string) (*order, error) {
	t.Helper()
	words := strings.Fields(line)
	c := &command{name: words[0], args: words[1:], out: t.Output(), errs: t.Output()}
	return c.parse()
}

func TestParse(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"r.txt": "a==1 # why\n\n-r more.txt\n b >= 2 ; python_version > '3' \n", "more.txt": "c\\\n==3\n-r r.txt\n",
		"package.json": `{"dependencies": {"a": "1"}, "devDependencies": {"b": "2"}}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"pip install a b==2":                       "pip a b==2",
		"pip -q install --no-cache-dir -U a[x]":    "pip a[x] quiet upgrade",
		"pip install -qU --progress-bar off a":     "pip a quiet upgrade",
		"pip install -r r.txt d":                   "pip d a==1 c ==3 b >= 2 ; python_version > '3'",
		"pip install -rmore.txt":                   "pip c ==3 a==1 b >= 2 ; python_version > '3'",
		"pip3 install --requirement=more.txt":      "pip c ==3 a==1 b >= 2 ; python_version > '3'",
		"uv pip install --system a":                "pip a",
		"npm i -D lodash@^4 @types/x":              "npm lodash@^4 @types/x upgrade",
		"npm install":                              `npm upgrade {"dependencies":{"a":"1","b":"2"}}`,
		"npm ci --omit=dev":                        `npm upgrade {"dependencies":{"a":"1"},"devDependencies":{"b":"2"}}`, // which npm leaves out
		"pip list":                                 "",
		"pip install --help":                       "",
		"pip":                                      "",
		"uv venv":                                  "",
		"uv pip list":                              "",
		"npm run build":                            "",
		"npm test":                                 "",
		"pip download --dest x a":                  "",
		"pip config set global.index-url http://x": "",
		"pip install a --index-url http://x":       "",
		"pip install -i http://x --target lib a":   "",
		"npm i a --registry=http://x":              "",
	} {
		o, err := parseLine(t, line)
		got := ""
		if o != nil {
			got = strings.Join(append([]string{o.Manager}, o.Packages...), " ")
			if o.Quiet {
				got += " quiet"
			}
			if o.Upgrade {
				got += " upgrade"
			}
			if len(o.Manifest) > 0 {
				got += " " + string(o.Manifest)
			}
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, error %v; want %q", line, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"pip install":               "name at least one package",
		"pip install -t x a":        "-t has no effect in a session",
		"pip install --target=x a":  "--target has no effect",
		"pip install -e .":          "-e has no effect",
		"pip install -c c.txt a":    "-c is not supported",
		"pip install -r":            "reading the requirements file",
		"pip install .":             "is not a package of the registry",
		"pip install a/b":           "is not a package of the registry",
		"npm install":               "name at least one package",
		"npm install --prefix /x a": "--prefix has no effect",
		"npm i git+ssh://a/b":       "is not a package of the registry",
	} {
		if o, err := parseLine(t, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, error %v; want one that says %q", line, o, err, want)
		}
	}
}

// TestManifestIsKept: a package.json gets the packages, and keeps its other fields in their order.
func TestManifestIsKept(t *testing.T) {
	had := `{"name":"p","zeta":[1, 2],"dependencies":{"b":"1"},"alpha":null}`
	p := &project{exact: true}
	got, err := p.note([]byte(had), []pkgsocket.Package{{Name: "a", Version: "2.0.0"}})
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(got)), "")
	if want := `{"name":"p","zeta":[1,2],"dependencies":{"a":"2.0.0","b":"1"},"alpha":null}`; flat != want {
		t.Errorf("%s, want %s", flat, want)
	}
	for _, bad := range []string{"", "[]", "{", `{"dependencies":[]}`, "null x"} {
		if got, err := p.note([]byte(bad), nil); err == nil {
			t.Errorf("%q becomes %q, want an error", bad, got)
		}
	}
}

// FuzzParse: each command line that is taken becomes a request that the node takes.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"install a", "install -qr x a", "-- install", "install -- -x", "pip install a==1", "i @a/b", "install -r"} {
		f.Add("pip", line)
		f.Add("npm", line)
		f.Add("uv", line)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name, line string) {
		if !slices.Contains(Names(), name) || strings.ContainsAny(line, "/") {
			return
		}
		t.Chdir(dir)
		c := &command{name: name, args: strings.Split(line, " ")}
		if o, err := c.parse(); o != nil && err == nil && o.Check() != nil {
			t.Errorf("%s %s: %+v is no request: %v", name, line, o.Request, o.Check())
		}
	})
}
