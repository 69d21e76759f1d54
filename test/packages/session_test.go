package packages

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/test/testutil"
)

// several is a template for Python, JavaScript and Bash.
func several(change ...func(*yurt.Template)) yurt.SandboxSpec {
	template := hcl.WithDefaults(yurt.Template{
		Name: "several", Runtimes: []string{"bash", "javascript", "python"}, Resources: yurt.Resources{Memory: 512 << 20},
	})
	for _, c := range change {
		c(&template)
	}
	return specOf(template)
}

func makeSession(t *testing.T, e *executor.Executor, spec yurt.SandboxSpec) string {
	t.Helper()
	s, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
	return s.ID
}

func shell(line string) yurt.ExecutionSpec {
	return yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: []string{"/bin/bash", "-c", line}}
}

func inContext(language, code string) yurt.ExecutionSpec {
	return yurt.ExecutionSpec{Language: language, Code: code, ContextName: "default"}
}

// lastLine is the last line that an execution printed.
func lastLine(o outcome) string {
	lines := strings.Split(strings.TrimSpace(o.Stdout), "\n")
	return lines[len(lines)-1]
}

// wantLast fails unless the execution succeeded, and printed that last.
func wantLast(t *testing.T, what string, o outcome, want string) {
	t.Helper()
	if o.ExitCode != 0 || o.Error != nil || lastLine(o) != want {
		t.Errorf("%s: exit %d, error %+v, last line %q, want %q\nstdout %s\nstderr %s", what, o.ExitCode, o.Error, lastLine(o), want, o.Stdout, o.Stderr)
	}
}

// TestInstallInSession types the commands of pip in the places in which a session has them. Each
// installs for later executions, and for processes that run already.
func TestInstallInSession(t *testing.T) {
	t.Parallel()
	e := node(t)
	s := makeSession(t, e, several())
	const use = "import humanize; print(humanize.intcomma(1234567))"
	wantLast(t, "before", run(t, e, s, inContext("python", "import importlib.util as u\nprint(u.find_spec('humanize'))")), "None")

	o := run(t, e, s, shell("pip install humanize==4.9.0 && python3 -c '"+use+"'"))
	wantLast(t, "in one command", o, "1,234,567")
	if !strings.Contains(o.Stdout, "Successfully installed humanize-4.9.0") || !strings.Contains(o.progress, "installing packages") {
		t.Errorf("the command printed %q, and its progress is %q", o.Stdout, o.progress)
	}
	wantLast(t, "a context that ran before", run(t, e, s, inContext("python", use)), "1,234,567")
	wantLast(t, "a new run", run(t, e, s, yurt.ExecutionSpec{Language: "python", Code: use}), "1,234,567")

	for what, step := range map[string]struct {
		spec yurt.ExecutionSpec
		last string
	}{
		"subprocess": {inContext("python", "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', '-q', 'six==1.16.0'], check=True)\nimport six\nprint(six.__version__)"), "1.16.0"},
		"Bash":       {inContext("bash", "pip3 install --user --break-system-packages inflection==0.5.1\npython3 -c 'import inflection; print(inflection.pluralize(\"post\"))'"), "posts"},
		"uv":         {shell("uv pip install --system toolz==0.12.1 && python3 -c 'import toolz; print(toolz.__version__)'"), "0.12.1"},
		"terminal": {func() yurt.ExecutionSpec {
			spec := shell("pip install -q click==8.1.7 && python3 -c 'import click; print(click.__version__)'")
			spec.Terminal = &yurt.TerminalSize{Cols: 80, Rows: 24}
			return spec
		}(), "8.1.7"},
		"script":  {shell("pip install -q tabulate==0.9.0 && echo 'a b' | tabulate -f plain"), "a  b"},
		"file":    {shell("printf '# needed\\nisodate==0.6.1 # a comment\\n-r more.txt\\n' >r.txt; echo 'zipp==3.19.0' >more.txt; pip install -qr r.txt && pip show zipp | head -1"), "Name: zipp"},
		"present": {shell("pip install humanize"), "Requirement already satisfied: humanize (4.9.0)"},
	} {
		wantLast(t, what, run(t, e, s, step.spec), step.last)
	}
	wantLast(t, "the first of them", run(t, e, s, inContext("python", use)), "1,234,567")
	o = run(t, e, s, shell("pip list"))
	for _, name := range []string{"humanize", "six", "inflection", "toolz", "click", "isodate", "zipp"} {
		if !strings.Contains(o.Stdout, name+" ") {
			t.Errorf("pip list has no %s: %s", name, o.Stdout)
		}
	}
	wantLast(t, "another version", run(t, e, s, shell("pip install humanize==4.8.0 && pip list | grep -c humanize")), "1")
	wantLast(t, "another version", run(t, e, s, yurt.ExecutionSpec{Language: "python", Code: "import humanize\nprint(humanize.__version__)"}), "4.8.0")
	wantLast(t, "its own dependencies", run(t, e, s, needs("humanize==4.9.0", "import humanize\nprint(humanize.__version__)")), "4.9.0")
}

// TestInstallFails: a command that cannot install ends with an error that says why, and the
// session goes on.
func TestInstallFails(t *testing.T) {
	t.Parallel()
	e := node(t)
	s := makeSession(t, e, several())
	for line, want := range map[string]string{
		"pip install yurt-no-such-package-7f3a":     "No matching distribution found",
		"pip install -q yurt-no-such-package-7f3a":  "No matching distribution found",
		"pip install --target /x six":               "the option --target has no effect in a session",
		"pip install --index-url=http://x six":      "with --index-url the packages come from that registry",
		"pip install -i http://x six":               "with -i the packages come from",
		"pip install -e .":                          "the option -e has no effect",
		"pip install git+https://github.com/a/b":    "is not a package of the registry",
		"pip install ./x /etc/passwd":               "is not a package of the registry",
		"pip install 'x @ https://example.com/x.w'": "is not a package of the registry",
		"pip install -r /etc/passwd":                "is not a package of the registry",
		"pip install -r /dev/zero":                  "more than",
		"pip install -r nosuch.txt":                 "no such file",
		"pip install":                               "name at least one package",
		"pip install --no-deps six":                 "--no-deps",
		"pip install --frobnicate six":              "--frobnicate is not supported in a session",
		"npm install user/repo":                     "is not a package of the registry",
		"npm install file:../x":                     "is not a package of the registry",
		"npm install --registry http://x ms":        "with --registry the packages come from",
	} {
		o := run(t, e, s, shell(line+" 2>&1; echo $?"))
		if last := lastLine(o); last == "0" || !strings.Contains(o.Stdout, want) {
			t.Errorf("%s: it said %q, want a failure that says %q", line, o.Stdout, want)
		}
	}
	wantLast(t, "after all of them", run(t, e, s, shell("pip --version >/dev/null && npm --version >/dev/null && echo on")), "on")
}

// TestInstallNodePackages does the same with npm.
func TestInstallNodePackages(t *testing.T) {
	t.Parallel()
	e := node(t)
	s := makeSession(t, e, several())
	wantLast(t, "before", run(t, e, s, inContext("javascript", "try { require('ms') } catch (e) { console.log(e.code) }")), "MODULE_NOT_FOUND")
	const lib = "import ms from 'ms'; export const x = ms('1s')"
	module := "import { x } from './lib.mjs'; console.log(x)"
	o := run(t, e, s, inContext("javascript", "require('fs').writeFileSync('lib.mjs', `"+lib+"`)\n"+module))
	if o.Error == nil || !strings.Contains(o.Error.Message, "Cannot find package 'ms'") {
		t.Errorf("a module of the user's before: %+v", o.Error)
	}
	o = run(t, e, s, shell("npm install ms@2.1.3 && node -e 'console.log(require(\"ms\")(1000))'"))
	wantLast(t, "a command", o, "1s")
	wantLast(t, "a context that ran before", run(t, e, s, inContext("javascript", "console.log(require('ms')(2000))")), "2s")
	wantLast(t, "a module of the user's", run(t, e, s, inContext("javascript", module)), "1000")
	wantLast(t, "a second package", run(t, e, s, inContext("bash", "npm i is-odd@3.0.1 @types/ms >/dev/null; cat package.json node_modules/@types/ms/package.json | grep -c '\"'; node -e 'console.log(require(\"is-odd\")(3), require(\"ms\")(1000))'")), "true 1s")
	wantLast(t, "a module", run(t, e, s, inContext("javascript", "import isOdd from 'is-odd';\nconsole.log(isOdd(3))")), "true")
	wantLast(t, "a file", run(t, e, s, shell("echo 'import ms from \"ms\"; console.log(ms(3000))' >a.mjs && node a.mjs")), "3s")
	wantLast(t, "the manifest", run(t, e, s, shell("node -p 'Object.keys(require(\"./package.json\").dependencies).join()'")), "@types/ms,is-odd,ms")
	project := `mkdir p && cd p && echo '{"name": "p", "scripts": {"try": "node -p 1+1"}, "devDependencies": {"nanoid": "3.3.7"}}' >package.json && `
	wantLast(t, "a project", run(t, e, s, shell(project+"npm install && npm run -s try && node -p 'require(\"nanoid/package.json\").version'")), "3.3.7")
}

// TestInstallIsCached: the second session has the layer of the first, and runs no installation.
func TestInstallIsCached(t *testing.T) {
	e := node(t)
	took := func() time.Duration {
		s := makeSession(t, e, several())
		run(t, e, s, shell("sleep 0.2"))
		begun := time.Now()
		wantLast(t, "installing", run(t, e, s, shell("pip install humanize==4.9.0")), "Successfully installed humanize-4.9.0")
		return time.Since(begun)
	}
	first, second := took(), took()
	t.Logf("the first session waited %s, the second %s", first, second)
	if limit := testutil.Moment(t, 300*time.Millisecond); second > limit {
		t.Errorf("the second session waited %s, want at most %s", second, limit)
	}
}

// TestInstalledOutlivesExecutor: a next executor has the packages that a session installed, and installs more.
func TestInstalledOutlivesExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e := testutil.Open(t, config)
	s := makeSession(t, e, several())
	run(t, e, s, inContext("python", "x = 1"))
	wantLast(t, "installing", run(t, e, s, shell("pip install -q humanize==4.9.0 && echo done")), "done")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = testutil.Start(t, config)
	wantLast(t, "a context", run(t, e, s, inContext("python", "import humanize\nprint(humanize.intcomma(1000), x)")), "1,000 1")
	wantLast(t, "one more", run(t, e, s, shell("pip install -q six==1.16.0 && python3 -c 'import six, humanize; print(six.__version__, humanize.__version__)'")), "1.16.0 4.9.0")
}

// TestInstallOverTemplate: a session can have another version of a package than its template, by
// the magics of a context too, and each version that the template has and the session did not
// name stays.
func TestInstallOverTemplate(t *testing.T) {
	t.Parallel()
	e := node(t)
	s := makeSession(t, e, several(func(t *yurt.Template) {
		t.Dependencies = map[string][]string{"python": {"humanize==4.8.0", "six==1.15.0"}}
	}))
	const versions = "import humanize, six\nprint(humanize.__version__, six.__version__)"
	wantLast(t, "the template's", run(t, e, s, inContext("python", versions)), "4.8.0 1.15.0")
	wantLast(t, "there already", run(t, e, s, inContext("python", "%pip install six")), "Requirement already satisfied: six (1.15.0)")
	o := run(t, e, s, inContext("python", "!pip install humanize==4.9.0 python-dateutil==2.8.2"))
	wantLast(t, "a newer one", o, "Note: humanize 4.8.0 was replaced; restart a context that has imported it already.")
	for what, spec := range map[string]yurt.ExecutionSpec{
		"another context": {Language: "python", Code: versions, ContextName: "other"},
		"a run":           {Language: "python", Code: versions},
		"a command":       shell("python3 -c '" + strings.ReplaceAll(versions, "\n", "; ") + "'"),
		"a handler":       {Kind: yurt.KindHandler, Language: "python", Handler: "handler", Event: []byte("1"), Code: "def handler(event, context):\n  " + strings.ReplaceAll(versions, "\n", "\n  ")},
	} {
		wantLast(t, what, run(t, e, s, spec), "4.9.0 1.15.0")
	}
}

// TestInstallInLayeredSandbox: an execution with namespaces of its own installs for those after it.
func TestInstallInLayeredSandbox(t *testing.T) {
	t.Parallel()
	e := node(t)
	s := makeSession(t, e, several(func(t *yurt.Template) { t.Isolation.PerExecution = true }))
	wantLast(t, "installing", run(t, e, s, shell("pip install -q humanize==4.9.0 && echo done")), "done")
	wantLast(t, "after it", run(t, e, s, shell("python3 -c 'import humanize; print(humanize.__version__)'")), "4.9.0")
}

// TestTemplateForbidsInstallation: its sessions have the packages that the template names, and no others.
func TestTemplateForbidsInstallation(t *testing.T) {
	t.Parallel()
	e := node(t)
	spec := several(func(t *yurt.Template) {
		t.Network.Packages, t.Dependencies = yurt.PackagesNone, map[string][]string{"python": {"humanize==4.9.0"}}
	})
	s := makeSession(t, e, spec)
	wantLast(t, "the template's", run(t, e, s, yurt.ExecutionSpec{Language: "python", Code: "import humanize\nprint(humanize.__version__)"}), "4.9.0")
	o := run(t, e, s, shell("python3 -m pip install six"))
	if o.ExitCode == 0 || !strings.Contains(o.Stderr, "lets its sessions install no packages") {
		t.Errorf("exit %d, stderr %q, want a failure that names the template", o.ExitCode, o.Stderr)
	}
	for _, line := range []string{"%pip install six", "if True:\n    !pip install six", "!python3 -m pip install -q six"} {
		cell := yurt.ExecutionSpec{Language: "python", Code: line, ContextName: "cells"}
		if o := run(t, e, s, cell); !strings.Contains(o.Stderr, "lets its sessions install no packages") {
			t.Errorf("%s: stderr %q, want a line that names the template", line, o.Stderr)
		}
	}
	refused := needs("six", "print(1)")
	refused.ID, refused.Kind, refused.Timeout, refused.OutputLimit = yurt.NewExecutionID(), yurt.KindCode, yurt.Duration(time.Minute), yurt.DefaultOutputLimit
	if err := e.StartExecution(t.Context(), s, refused); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("dependencies of an execution: %v, want %s", err, yurt.CodeForbidden)
	}
}
