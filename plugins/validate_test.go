package plugins

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func validPlan() Plan {
	return Plan{Argv: []string{"/usr/bin/python3", "-c", "pass\n"}, Env: map[string]string{"A_1": "b\nc"}, Files: []File{{Path: "a/b.py", Data: []byte("x"), Mode: 0o644}}}
}

func TestPlanValidate(t *testing.T) {
	t.Parallel()
	files := func(paths ...string) func(*Plan) {
		return func(p *Plan) {
			p.Files = nil
			for _, name := range paths {
				p.Files = append(p.Files, File{Path: name, Mode: 0o600})
			}
		}
	}
	mode := func(mode fs.FileMode) func(*Plan) { return func(p *Plan) { p.Files[0].Mode = mode } }
	argv := func(argv ...string) func(*Plan) { return func(p *Plan) { p.Argv = argv } }
	env := func(name, value string) func(*Plan) { return func(p *Plan) { p.Env = map[string]string{name: value} } }
	tests := map[string]struct {
		change func(*Plan)
		want   string // part of the error; empty: valid
	}{
		"valid":                 {func(*Plan) {}, ""},
		"bare command":          {argv("python3"), ""},
		"nothing but a command": {func(p *Plan) { *p = Plan{Argv: []string{"/bin/true"}} }, ""},
		"neighbours":            {files("a", "a.b", "ab/c", "b/c"), ""},
		"no argv":               {argv(), "argv is empty"},
		"empty command":         {argv(""), "names no command"},
		"relative command":      {argv("bin/python"), "neither a clean absolute path"},
		"dotted command":        {argv("./python"), "neither a clean absolute path"},
		"unclean command":       {argv("/usr/../bin/sh"), "neither a clean absolute path"},
		"parent as command":     {argv(".."), "names no command"},
		"NUL in command":        {argv("/bin/s\x00h"), "NUL"},
		"newline in command":    {argv("/bin/s\nh"), "control characters"},
		"NUL in argument":       {argv("/bin/sh", "a\x00"), "argv[1] contains a NUL"},
		"long argument":         {argv("/bin/sh", strings.Repeat("x", yurt.MaxArgBytes+1)), "argv[1] has"},
		"many arguments":        {argv(make([]string, yurt.MaxArgs+1)...), "argv has"},
		"empty env name":        {env("", "x"), "env name"},
		"env name with =":       {env("A=B", "x"), "env name"},
		"env name with digit":   {env("1A", "x"), "env name"},
		"NUL in env":            {env("A", "\x00"), "NUL"},
		"large env":             {env("A", strings.Repeat("x", yurt.MaxEnvBytes)), "env has"},
		"inserted into no line": {func(p *Plan) { p.Inserted = &Insertion{File: "a", Column: 1, Text: "b"} }, "inserted text"},
		"inserted lines":        {func(p *Plan) { p.Inserted = &Insertion{File: "a", Line: 1, Column: 1, Text: "b\n"} }, "inserted text"},
		"empty path":            {files(""), "not a clean relative path"},
		"dot":                   {files("."), "not a clean relative path"},
		"absolute path":         {files("/etc/passwd"), "not a clean relative path"},
		"path leads out":        {files("../x"), "not a clean relative path"},
		"path leads out inside": {files("a/../../x"), "not a clean relative path"},
		"unclean path":          {files("a//b"), "not a clean relative path"},
		"directory":             {files("a/"), "not a clean relative path"},
		"NUL in path":           {files("a\x00b"), "control characters"},
		"escape in path":        {files("a\x1b[2J"), "control characters"},
		"path is not UTF-8":     {files("a\xff"), "not a clean relative path"},
		"long name":             {files(strings.Repeat("x", 256)), "longer than 255"},
		"long path":             {files(strings.Repeat("x/", 2048) + "x"), "a file's path has"},
		"twice":                 {files("a", "b", "a"), `"a" is given twice`},
		"file and directory":    {files("a/b/c", "a.x", "a/b"), `"a/b" is also a directory`},
		"many files":            {func(p *Plan) { p.Files = make([]File, MaxPlanFiles+1) }, "plan has 257 files"},
		"much data":             {func(p *Plan) { p.Files[0].Data = make([]byte, MaxPlanBytes+1) }, "more than"},
		"set-uid":               {mode(fs.ModeSetuid | 0o755), "only permission bits"},
		"set-uid of Unix":       {mode(0o4755), "only permission bits"},
		"device":                {mode(fs.ModeDevice | 0o600), "only permission bits"},
		"result format":         {func(p *Plan) { p.Result = "xml" }, `"xml" is unknown`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := validPlan()
			tt.change(&plan)
			err := plan.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzPlanValidate checks the properties on which the sandbox relies in every valid plan.
func FuzzPlanValidate(f *testing.F) {
	f.Add("/bin/sh", "a/b", "A", "value", uint32(0o644))
	f.Add("sh", "..", "", "", uint32(0o4755))
	f.Add("/bin/../x", "a/../../b", "A=B", "\x00", uint32(1<<31))
	f.Add(".", "a\\b", "PATH", "x", uint32(0))
	f.Add("/", "\xff", "Ä", "x", uint32(0o777))
	f.Fuzz(func(t *testing.T, command, file, name, value string, mode uint32) {
		plan := Plan{
			Argv:  []string{command},
			Env:   map[string]string{name: value},
			Files: []File{{Path: file, Mode: fs.FileMode(mode)}, {Path: "x/y", Mode: 0o600}},
		}
		if plan.Validate() != nil {
			return
		}
		const root = "/run/x"
		target := filepath.Join(root, filepath.FromSlash(file))
		switch {
		case !strings.HasPrefix(target, root+"/") || path.Clean(file) != file || target == root+"/x" || target == root+"/x/y":
			t.Errorf("file path %q was let through", file)
		case strings.ContainsAny(file+command+name+value, "\x00") || strings.ContainsAny(file+command, "\n\x1b"):
			t.Errorf("control characters were let through: %q %q %q %q", file, command, name, value)
		case mode&^0o777 != 0:
			t.Errorf("mode %#o was let through", mode)
		case strings.Contains(name, "=") || name == "":
			t.Errorf("env name %q was let through", name)
		case command == "" || strings.Contains(command, "/") && !path.IsAbs(command):
			t.Errorf("command %q was let through", command)
		}
	})
}
