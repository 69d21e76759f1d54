package hcl

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
)

func TestDefaults(t *testing.T) {
	defaults, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
		"HOME": yurt.WorkspaceDir, "LANG": "C.UTF-8",
	}
	python := WithDefaults(yurt.Template{Name: "python-basic", Extends: "shell-basic", Runtimes: []string{"python"}, Env: env})
	shell := WithDefaults(yurt.Template{Name: "shell-basic", Env: env})
	byName := map[string]yurt.Template{}
	var languages []string
	for _, template := range defaults {
		if template.Description == "" {
			t.Errorf("%s has no description", template.Name)
		}
		language, basic := strings.CutSuffix(template.Name, "-basic")
		switch {
		case !basic && template.Name != yurt.DefaultTemplate && template.Name != "data", basic && language != "shell" && !slices.Equal(template.Runtimes, []string{language}):
			t.Errorf("%s runs %q", template.Name, template.Runtimes)
		case language != "shell" && basic:
			languages = append(languages, language)
		}
		for _, path := range template.RootFS.HostPaths {
			if !slices.Contains(yurt.OfferedHostPaths(), path) {
				t.Errorf("%s binds %s, which no host offers", template.Name, path)
			}
		}
		template.Description = ""
		byName[template.Name] = template
	}
	if all := slices.Sorted(slices.Values(byName[yurt.DefaultTemplate].Runtimes)); !slices.Equal(all, languages) {
		t.Errorf("the template default runs %q, and there are templates of %q", all, languages)
	}
	if diff := cmp.Diff([]yurt.Template{python, shell}, []yurt.Template{byName["python-basic"], byName["shell-basic"]}); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}

func TestDefaultsAreFormatted(t *testing.T) {
	files, err := filepath.Glob("defaults/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Format(src)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), string(src)); diff != "" {
			t.Errorf("%s is not formatted:\n%s", file, diff)
		}
	}
}

func TestVariables(t *testing.T) {
	src := []byte(`
variable "name" { type = string }
variable "cpu" { type = number }
variable "runtimes" {
  type    = list(string)
  default = []
}
variable "untyped" { default = "512Mi" }
variable "optional" {
  type    = string
  default = null
}
template "x" {
  description = var.name
  runtimes    = var.runtimes
  env         = { UNSET = var.optional }
  resources {
    cpu    = var.cpu
    memory = var.untyped
  }
}
`)
	parse := func(variables map[string]string) ([]yurt.Template, error) {
		return (&Parser{Variables: variables}).Parse(Source{Name: "v.hcl", Text: src})
	}
	got, err := parse(map[string]string{"name": `${not} "an" expression`, "cpu": "2.5", "runtimes": `["a", "b"]`, "untyped": "1Gi"})
	if err != nil {
		t.Fatal(err)
	}
	want := WithDefaults(yurt.Template{
		Name: "x", Description: `${not} "an" expression`, Runtimes: []string{"a", "b"},
		Resources: yurt.Resources{CPU: 2.5, Memory: 1 << 30},
	})
	if diff := cmp.Diff([]yurt.Template{want}, got); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		name      string
		variables map[string]string
		want      []string
	}{
		{"missing", map[string]string{"cpu": "1"}, []string{"Missing value"}},
		{"several missing", nil, []string{"Missing value", "Missing value"}},
		{"wrong type", map[string]string{"name": "x", "cpu": "much"}, []string{"Invalid value"}},
		{"wrong type of element", map[string]string{"name": "x", "cpu": "1", "runtimes": "[[]]"}, []string{"Invalid value"}},
		{"no expression", map[string]string{"name": "x", "cpu": "1", "runtimes": "a, b"}, []string{"Invalid value"}},
		{"function", map[string]string{"name": "x", "cpu": "1", "runtimes": `[upper("a")]`}, []string{"Invalid value"}},
		{"not declared", map[string]string{"name": "x", "cpu": "1", "naem": "y"}, []string{"Unknown variable"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.variables)
			if diff := cmp.Diff(tt.want, summaries(t, err)); diff != "" {
				t.Errorf("%s\n%v", diff, err)
			}
		})
	}
}

func summaries(t *testing.T, err error) []string {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	var list []string
	for _, d := range e.Diagnostics {
		list = append(list, d.Summary)
	}
	return list
}

func TestResolve(t *testing.T) {
	stored := yurt.Template{Name: "stored", Runtimes: []string{"python"}, Resources: yurt.Resources{CPU: 4}, Description: "of the base"}
	parser := Parser{Resolve: func(name string) (yurt.Template, error) {
		switch name {
		case "stored":
			return stored, nil
		case "broken":
			return yurt.Template{Name: "broken", Resources: yurt.Resources{CPU: -4}}, nil
		case "down":
			return yurt.Template{}, context.DeadlineExceeded
		default:
			return yurt.Template{}, yurt.Errorf(yurt.CodeTemplateNotFound, "no template %q", name)
		}
	}}
	parse := func(base string) ([]yurt.Template, error) {
		return parser.Parse(Source{Name: "x.hcl", Text: []byte("template \"x\" {\n  extends = \"" + base + "\"\n  resources {\n    pids = 8\n  }\n}\n")})
	}
	got, err := parse("stored")
	if err != nil {
		t.Fatal(err)
	}
	want := WithDefaults(yurt.Template{Name: "x", Extends: "stored", Runtimes: []string{"python"}, Resources: yurt.Resources{CPU: 4, PIDs: 8}})
	if diff := cmp.Diff([]yurt.Template{want}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := parse("python-basic"); !slices.Equal(summaries(t, err), []string{"Unknown template"}) {
		t.Errorf("a resolver does not replace the defaults: %v", err)
	}
	if _, err := parse("broken"); !slices.Equal(summaries(t, err), []string{"Value out of range"}) || !strings.Contains(err.Error(), "inherited") {
		t.Errorf("an invalid base gave %v", err)
	}
	var e *Error
	if _, err := parse("down"); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) {
		t.Errorf("a resolver that fails gave %v", err)
	}
}

// TestExtendsDoesNotShare: a template has copies of the values that it inherits.
func TestExtendsDoesNotShare(t *testing.T) {
	got, err := Parse("x.hcl", []byte("template \"a\" {\n  env = { A = 1 }\n  runtimes = [\"x\"]\n}\ntemplate \"b\" {\n  extends = \"a\"\n  env = { B = 2 }\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got[0].Env) != 1 || len(got[1].Env) != 2 {
		t.Errorf("the environments are %v and %v", got[0].Env, got[1].Env)
	}
	got[1].Runtimes[0] = "y"
	if got[0].Runtimes[0] != "x" {
		t.Error("the two share a list")
	}
}

func TestSeveralSources(t *testing.T) {
	got, err := new(Parser).Parse(
		Source{"a.hcl", []byte("template \"a\" {\n  extends = \"b\"\n  description = local.text\n}\n")},
		Source{"b.hcl", []byte("locals {\n  text = \"shared\"\n}\ntemplate \"b\" {\n  runtimes = [\"x\"]\n}\n")},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Description != "shared" || got[0].Runtimes[0] != "x" {
		t.Errorf("got %+v", got)
	}
	_, err = new(Parser).Parse(
		Source{"b.hcl", []byte("template \"a\" {}\nx = 1\n")},
		Source{"a.hcl", []byte("template \"a\" {}\ny = 1\n")},
	)
	var e *Error
	if !errors.As(err, &e) || len(e.Diagnostics) != 3 || e.Diagnostics[0].File != "a.hcl" || e.Diagnostics[2].File != "b.hcl" {
		t.Errorf("got %v", err)
	}
	if _, err = new(Parser).Parse(Source{Name: "a.hcl"}, Source{Name: "a.hcl"}); !slices.Equal(summaries(t, err), []string{"Source given twice"}) {
		t.Errorf("got %v", err)
	}
	half := []byte(strings.Repeat("#", MaxSourceBytes/2+1))
	if _, err = new(Parser).Parse(Source{"a.hcl", half}, Source{"b.hcl", half}); !slices.Equal(summaries(t, err), []string{"Source too large"}) {
		t.Errorf("got %v", err)
	}
	if got, err := new(Parser).Parse(); err != nil || len(got) != 0 {
		t.Errorf("nothing gave %v, %v", got, err)
	}
}

func TestParseFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("b.hcl", "template \"b\" {}")
	write("a.hcl", "template \"a\" {}")
	write("notes.txt", "not HCL")
	names := func(paths ...string) string {
		templates, err := ParseFiles(paths...)
		if err != nil {
			return string(yurt.CodeOf(err))
		}
		var list []string
		for _, template := range templates {
			list = append(list, template.Name)
		}
		return strings.Join(list, " ")
	}
	empty := t.TempDir()
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{[]string{one}, "b"},
		{[]string{dir}, "a b"},
		{[]string{one, filepath.Join(dir, "a.hcl")}, "b a"},
		{[]string{one, dir}, "template_invalid"},
		{[]string{filepath.Join(dir, "missing.hcl")}, "file_not_found"},
		{[]string{empty}, "file_not_found"},
		{[]string{write("large.txt", strings.Repeat("#", MaxSourceBytes+1))}, "template_invalid"},
	} {
		if got := names(tt.paths...); got != tt.want {
			t.Errorf("%v gave %q, want %q", tt.paths, got, tt.want)
		}
	}
	if _, err := ParseFiles(filepath.Join(dir, "missing.hcl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestFormat(t *testing.T) {
	got, err := Format([]byte("a=1\nlong_name   = {b=2}\nx \"y\"   {\n# comment\n      c=[1,\n2]\n}\n"))
	want := "a         = 1\nlong_name = { b = 2 }\nx \"y\" {\n  # comment\n  c = [1,\n  2]\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("got %v\n%s", err, got)
	}
	if _, err := Format([]byte("x {")); len(summaries(t, err)) == 0 {
		t.Error("text that does not parse was formatted")
	}
	if _, err := Format([]byte(strings.Repeat("#", MaxSourceBytes+1))); !slices.Equal(summaries(t, err), []string{"Source too large"}) {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	if err := Validate(yurt.Template{Name: "x"}); err != nil {
		t.Errorf("defaults are refused: %v", err)
	}
	tooMany := make([]string, 100)
	for i := range tooMany {
		tooMany[i] = strings.Repeat("x", i+1)
	}
	bad := yurt.Template{
		Description: strings.Repeat("x", MaxDescriptionBytes+1),
		RootFS:      yurt.RootFS{HostPaths: tooMany},
		Runtimes:    tooMany,
		Env:         map[string]string{"A": "\xff", "": "x", "B": strings.Repeat("x", yurt.MaxEnvBytes)},
		Resources:   yurt.Resources{CPU: -1, Memory: 1, Disk: 1, PIDs: 1},
		Isolation:   yurt.Isolation{Level: "gvisor"},
		Network:     yurt.Network{Mode: "host"},
		Session:     yurt.SessionLimits{Timeout: 1, IdleTimeout: -1, ExecutionTimeout: -1, OutputLimit: -1},
	}
	var e *Error
	if err := Validate(bad); !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	var fields []string
	for _, d := range e.Diagnostics {
		fields = append(fields, d.Field)
	}
	want := []string{
		"name", "description", "rootfs.host_paths", "runtimes", `env[""]`, "env.A", "env.B", "resources.cpu", "resources.memory", "resources.disk", "resources.pids",
		"isolation.level", "network.mode", "session.timeout", "session.idle_timeout", "session.execution_timeout", "session.output_limit",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(e.Error(), "xxxx") {
		t.Error("a value of the environment is shown")
	}
}

func BenchmarkDefaults(b *testing.B) {
	for b.Loop() {
		if _, err := Defaults(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestNamePattern: names are checked by hand, as the pattern says.
func TestNamePattern(t *testing.T) {
	pattern := regexp.MustCompile(NamePattern)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{0,70}`), rapid.String(), rapid.StringMatching(`[a-zA-Z0-9_.-]{0,9}`)).Draw(t, "name")
		if got := validName(name); got != pattern.MatchString(name) {
			t.Fatalf("validName(%q) is %v", name, got)
		}
	})
}

// TestConcurrentParse: one parser serves many at once.
func TestConcurrentParse(t *testing.T) {
	parser := Parser{Variables: map[string]string{"v": "[1, 2]"}}
	src := []byte("variable \"v\" {\n  type = list(number)\n}\ntemplate \"x\" {\n  extends = \"python-basic\"\n  env = { for n in var.v : \"N${n + 1}\" => -n }\n}\n")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got, err := parser.Parse(Source{Name: "x.hcl", Text: src})
			if err != nil || got[0].Env["N3"] != "-2" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	group.Wait()
}
