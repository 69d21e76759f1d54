package packages

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/golang"
	"github.com/yurtrun/yurt/test/testutil"
)

// outcome is the outcome of an execution, and the progress of its installation of packages.
type outcome struct {
	*yurt.Result
	progress string
}

// installed reports whether the execution waited for an installation.
func (o outcome) installed() bool { _, ok := o.Metrics.Phases["install"]; return ok }

func node(t *testing.T, changes ...func(*executor.Config)) *executor.Executor {
	t.Helper()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	for _, change := range changes {
		change(&config)
	}
	return testutil.Start(t, config)
}

func sandbox(t *testing.T, e *executor.Executor, language string) string {
	t.Helper()
	templates, err := hcl.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(templates, func(tpl yurt.Template) bool {
		return slices.Contains(tpl.Runtimes, language) && len(tpl.Dependencies) == 0
	})
	if i < 0 {
		t.Fatalf("no template without packages runs %s", language)
	}
	template := templates[i]
	if language == "go" {
		cache := compiledtest.GoCache(t)
		template.RootFS.HostPaths = append(slices.Clone(template.RootFS.HostPaths), cache)
		template.Env = map[string]string{golang.CacheEnv: cache}
	}
	s, err := e.CreateSandbox(t.Context(), yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources.Or(yurt.DefaultResources())})
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
	return s.ID
}

// begin starts code, and returns the id of the execution.
func begin(t *testing.T, e *executor.Executor, sandbox string, spec yurt.ExecutionSpec) string {
	t.Helper()
	spec.ID = yurt.NewExecutionID()
	if spec.Kind == "" {
		spec.Kind = yurt.KindCode
	}
	spec.Timeout, spec.OutputLimit = yurt.Duration(3*time.Minute), yurt.DefaultOutputLimit
	if err := e.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatalf("starting: %v", err)
	}
	return spec.ID
}

func wait(t *testing.T, e *executor.Executor, sandbox, id string) outcome {
	t.Helper()
	var o outcome
	err := e.WatchExecution(t.Context(), sandbox, id, 0, func(event yurt.Event) error {
		switch event.Type {
		case yurt.EventProgress:
			o.progress += string(event.Data)
		case yurt.EventEnded:
			o.Result = event.Result
		}
		return nil
	})
	if err != nil || o.Result == nil {
		t.Fatalf("watching: %v", err)
	}
	return o
}

func run(t *testing.T, e *executor.Executor, sandbox string, spec yurt.ExecutionSpec) outcome {
	t.Helper()
	return wait(t, e, sandbox, begin(t, e, sandbox, spec))
}

// files makes a project of path and text pairs.
func files(pairs ...string) []yurt.SourceFile {
	var list []yurt.SourceFile
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, yurt.SourceFile{Path: pairs[i], Data: []byte(pairs[i+1])})
	}
	return list
}

// wantOutput fails unless the code ran and printed that.
func wantOutput(t *testing.T, o outcome, stdout string) {
	t.Helper()
	if o.Error != nil || o.ExitCode != 0 || o.Stdout != stdout {
		t.Errorf("exit %d, stdout %q, want %q\nerror %+v\nstderr %s\nprogress %s", o.ExitCode, o.Stdout, stdout, o.Error, o.Stderr, o.progress)
	}
}

// sample is code in a language that needs a package.
type sample struct {
	language string
	needs    string
	code     string
	stdout   string
	project  yurt.ExecutionSpec // with a manifest of its own
	printed  string             // by the project
	missing  string             // a package that is not there
}

func samples() []sample {
	return []sample{
		{
			language: "python", needs: "humanize==4.9.0", code: "import humanize\nprint(humanize.intcomma(1234567))\n", stdout: "1,234,567\n",
			project: yurt.ExecutionSpec{Entry: "main.py", Files: files(
				"requirements.txt", "# what it needs\n-r more.txt\n", "more.txt", "six==1.16.0\n", "main.py", "import six\nprint(six.__version__)\n",
			)},
			printed: "1.16.0\n",
			missing: "yurt-no-such-package-7f3a",
		},
		{
			language: "javascript", needs: "ms@2.1.3", code: "const ms = require('ms');\nconsole.log(ms('2 days'));\n", stdout: "172800000\n",
			project: yurt.ExecutionSpec{Entry: "main.mjs", Files: files(
				"package.json", `{"name": "app", "scripts": {"preinstall": "exit 1"}, "dependencies": {"is-odd": "3.0.1"}}`,
				"main.mjs", "import isOdd from 'is-odd';\nconsole.log(isOdd(3));\n",
			)},
			printed: "true\n",
			missing: "yurt-no-such-package-7f3a",
		},
		{
			language: "typescript", needs: "nanoid@5.0.7", code: "import { customAlphabet } from 'nanoid';\nconst id: string = customAlphabet('a', 3)();\nconsole.log(id);\n", stdout: "aaa\n",
			project: yurt.ExecutionSpec{Entry: "main.ts", Files: files(
				"package.json", `{"dependencies": {"is-odd": "3.0.1"}}`, "main.ts", "import isOdd from 'is-odd';\nconsole.log(isOdd(3) as boolean);\n",
			)},
			printed: "true\n",
			missing: "yurt-no-such-package-7f3a",
		},
		{
			language: "go", needs: "github.com/mitchellh/go-wordwrap@v1.0.1",
			code:   "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/mitchellh/go-wordwrap\"\n)\n\nfunc main() { fmt.Println(wordwrap.WrapString(\"foo bar\", 5)) }\n",
			stdout: "foo\nbar\n",
			project: yurt.ExecutionSpec{Entry: "main.go", Files: files(
				"go.mod", "module app\n\ngo 1.21\n\nrequire github.com/pkg/errors v0.9.1\n",
				"main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/pkg/errors\"\n)\n\nfunc main() { fmt.Println(errors.New(\"x\")) }\n",
			)},
			printed: "x\n",
			missing: "example.com/yurt/no-such-module@v1.0.0",
		},
		{
			language: "rust", needs: "itoa@=1.0.4", code: "fn main() {\n    println!(\"{}\", itoa::Buffer::new().format(128u64));\n}\n", stdout: "128\n",
			project: yurt.ExecutionSpec{Entry: "src/main.rs", Files: files(
				"Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nhex = \"=0.4.3\"\n",
				"src/main.rs", "fn main() {\n    println!(\"{}\", hex::encode(\"ab\"));\n}\n",
			)},
			printed: "6162\n",
			missing: "yurt-no-such-crate-7f3a@1.0.0",
		},
		{
			language: "java", needs: "org.apache.commons:commons-lang3:3.14.0",
			code: "import org.apache.commons.lang3.StringUtils;\nSystem.out.println(StringUtils.reverse(\"abc\"));\n", stdout: "cba\n",
			project: yurt.ExecutionSpec{Entry: "src/Main.java", Files: files(
				"pom.xml", "<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>a</artifactId><version>1</version><dependencies>"+
					"<dependency><groupId>com.google.code.gson</groupId><artifactId>gson</artifactId><version>2.10.1</version></dependency></dependencies></project>",
				"src/Main.java", "public class Main { public static void main(String[] a) { System.out.println(new com.google.gson.Gson().toJson(new int[] {1, 2})); } }\n",
			)},
			printed: "[1,2]\n",
			missing: "org.yurtrun.no.such:library:1.0.0",
		},
	}
}

func TestPackages(t *testing.T) {
	cache := ""
	if !testing.Short() {
		cache = compiledtest.GoCache(t)
	}
	e := node(t, func(c *executor.Config) { c.HostPaths = append(yurt.OfferedHostPaths(), cache) })
	for _, l := range samples() {
		t.Run(l.language, func(t *testing.T) {
			t.Parallel()
			l.try(t, e)
		})
	}
}

func (l sample) try(t *testing.T, e *executor.Executor) {
	first := sandbox(t, e, l.language)
	spec := yurt.ExecutionSpec{Language: l.language, Code: l.code, Dependencies: []string{l.needs}}
	o := run(t, e, first, spec)
	wantOutput(t, o, l.stdout)
	if !o.installed() || o.progress == "" {
		t.Errorf("it was installed: %v, and said %q", o.installed(), o.progress)
	}
	t.Logf("installed in %.0f ms, ran in %.0f ms in all", o.Metrics.Phases["install"], o.Metrics.DurationMS)

	t.Run("a second session pays nothing", func(t *testing.T) {
		o := run(t, e, sandbox(t, e, l.language), spec)
		wantOutput(t, o, l.stdout)
		if o.installed() || o.progress != "" {
			t.Errorf("it was installed again: %s", o.progress)
		}
	})
	t.Run("project", func(t *testing.T) {
		spec := l.project
		spec.Language = l.language
		o := run(t, e, first, spec)
		wantOutput(t, o, l.printed)
		if !o.installed() {
			t.Error("nothing was installed")
		}
	})
	t.Run("no such package", func(t *testing.T) {
		spec := spec
		spec.Dependencies = []string{l.missing}
		o := run(t, e, first, spec)
		if o.Error == nil || o.Error.Type != yurt.ErrorTypeDependency || !strings.Contains(o.Error.Message, strings.FieldsFunc(l.missing, func(r rune) bool { return strings.ContainsRune("@:", r) })[0]) {
			t.Errorf("exit %d, %+v", o.ExitCode, o.Error)
		}
		spec.Dependencies = []string{l.needs}
		wantOutput(t, run(t, e, first, spec), l.stdout)
	})
}
