package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/test/testutil"
)

// furnished is a template for Python and JavaScript, with those packages.
func furnished(python, javascript string) yurt.Template {
	template := yurt.Template{
		Name: "furnished", Runtimes: []string{"javascript", "python"}, Dependencies: map[string][]string{"python": {python}},
		Resources: yurt.Resources{Memory: 512 << 20},
	}
	if javascript != "" {
		template.Dependencies["javascript"] = []string{javascript}
	}
	return hcl.WithDefaults(template)
}

func specOf(template yurt.Template) yurt.SandboxSpec {
	return yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources}
}

// client is a Lambda function with a runtime client of its own, which needs humanize.
const client = `
import http.client, humanize, json, os
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    response = api.getresponse()
    print(humanize.intcomma(json.loads(response.read()) * 1000), flush=True)
    api.request("POST", "/2018-06-01/runtime/invocation/%s/response" % response.headers["Lambda-Runtime-Aws-Request-Id"], "1")
    api.getresponse().read()
`

// invocation is of that function.
func invocation() yurt.ExecutionSpec {
	return yurt.ExecutionSpec{Kind: yurt.KindHandler, Handler: "client", Command: []string{"python3", "-c", client}, Event: []byte("1")}
}

// wantPackages fails unless code, commands and contexts of the sandbox have the packages without a
// further installation.
func wantPackages(t *testing.T, e *executor.Executor, sandbox string) {
	t.Helper()
	for name, tt := range map[string]struct {
		spec yurt.ExecutionSpec
		want string
	}{
		"code":       {yurt.ExecutionSpec{Language: "python", Code: "import humanize\nprint(humanize.intcomma(1234567))"}, "1,234,567\n"},
		"handler":    {yurt.ExecutionSpec{Kind: yurt.KindHandler, Language: "python", Handler: "handler", Event: []byte("1"), Code: "import humanize\ndef handler(event, context): print(humanize.intcomma(event * 1000))"}, "1,000\n"},
		"warm":       {yurt.ExecutionSpec{Kind: yurt.KindHandler, Language: "python", ContextOptional: true, Handler: "handler", Event: []byte("1"), Code: "import humanize\ndef handler(event): print(humanize.intcomma(event * 1000))"}, "1,000\n"},
		"function":   {invocation(), "1,000\n"},
		"context":    {yurt.ExecutionSpec{Language: "python", ContextName: "default", Code: "import humanize\nprint(humanize.intcomma(1000))"}, "1,000\n"},
		"command":    {yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: []string{"python3", "-c", "import humanize; print(humanize.intcomma(1000))"}}, "1,000\n"},
		"javascript": {yurt.ExecutionSpec{Language: "javascript", Code: "console.log(require('ms')('2 days'))"}, "172800000\n"},
		"other's":    {yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: []string{"node", "-e", "console.log(require('ms')('2 days'))"}}, "172800000\n"},
	} {
		o := run(t, e, sandbox, tt.spec)
		if wantOutput(t, o, tt.want); o.installed() || o.progress != "" {
			t.Errorf("%s: packages were installed: %s", name, o.progress)
		}
	}
}

// TestTemplatePackages: a template's packages are installed once, before a sandbox is kept ready,
// and all executions in its sandboxes have them, over a restart of the executor too.
func TestTemplatePackages(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e := life(t, config)
	template := furnished("humanize==4.9.0", "ms@2.1.3")
	if _, err := e.ReserveSandbox(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	warm, found, err := e.ClaimSandbox(t.Context(), specOf(template))
	if err != nil || !found {
		t.Fatalf("claimed %v, %v", found, err)
	}
	wantPackages(t, e, warm.ID)
	if err := e.PrepareTemplate(t.Context(), template, func(text string) error {
		if text != "" {
			t.Errorf("it is installed again: %s", text)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	cold, err := e.CreateSandbox(t.Context(), specOf(template))
	if err != nil {
		t.Fatal(err)
	}
	wantPackages(t, e, cold.ID)
	more := yurt.ExecutionSpec{Language: "python", Code: "import humanize, six\nprint(six.__version__)", Dependencies: []string{"six==1.16.0"}}
	wantOutput(t, run(t, e, cold.ID, more), "1.16.0\n")
	function := invocation()
	function.Language, function.Dependencies = more.Language, more.Dependencies
	function.Command[2] = "import six, os\nprint(six.__version__, os.path.isdir(os.environ['NODE_PATH'].split(':')[-1]))" + client
	wantOutput(t, run(t, e, cold.ID, function), "1.16.0 True\n1,000\n")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	wantPackages(t, testutil.Start(t, config), cold.ID)
}

// TestTemplatePackagesPreloaded: a module that a template names both as a package and to be
// preloaded is imported when a session's first run begins, but not where it brings packages of its
// own.
func TestTemplatePackagesPreloaded(t *testing.T) {
	e := node(t)
	template := furnished("humanize==4.9.0", "")
	template.Runtimes, template.Preload = []string{"python"}, []string{"humanize"}
	if _, err := e.ReserveSandbox(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	s, found, err := e.ClaimSandbox(t.Context(), specOf(template))
	if err != nil || !found {
		t.Fatalf("claimed %v, %v", found, err)
	}
	const code = "import sys\nprint('humanize' in sys.modules)\nimport humanize\nprint(humanize.intcomma(1000))"
	wantOutput(t, run(t, e, s.ID, yurt.ExecutionSpec{Language: "python", Code: code}), "True\n1,000\n")
	wantOutput(t, run(t, e, s.ID, yurt.ExecutionSpec{Language: "python", Code: code, Dependencies: []string{"six==1.16.0"}}), "False\n1,000\n")
	wantOutput(t, run(t, e, s.ID, yurt.ExecutionSpec{Language: "python", Code: code, Env: map[string]string{"A": "1"}}), "False\n1,000\n")
	wantOutput(t, run(t, e, s.ID, yurt.ExecutionSpec{Language: "python", Code: code}), "True\n1,000\n")
}

// TestTemplatePackagesLater: a sandbox of a template whose packages are not there is made at once,
// and its first execution waits for them.
func TestTemplatePackagesLater(t *testing.T) {
	t.Parallel()
	e := node(t)
	template := furnished("humanize==4.9.0", "")
	s, err := e.CreateSandbox(t.Context(), specOf(template))
	if err != nil {
		t.Fatal(err)
	}
	o := run(t, e, s.ID, yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: []string{"python3", "-c", "import humanize; print(1)"}})
	wantOutput(t, o, "1\n")
	if !o.installed() || !strings.Contains(o.progress, "humanize") {
		t.Errorf("it was installed: %v, and said %q", o.installed(), o.progress)
	}
}

// TestTemplatePackagesArePlannedOnce: an execution in a context asks no runtime for the packages of its template,
// which are planned once in a sandbox. It ends while the runtime answers no question.
func TestTemplatePackagesArePlannedOnce(t *testing.T) {
	e := node(t)
	s, err := e.CreateSandbox(t.Context(), specOf(furnished("humanize==4.9.0", "")))
	if err != nil {
		t.Fatal(err)
	}
	cell := yurt.ExecutionSpec{Language: "python", ContextName: yurt.DefaultContext, Code: "import humanize\nprint(humanize.intcomma(1000))"}
	wantOutput(t, run(t, e, s.ID, cell), "1,000\n")
	stopRuntimes(t, "yurt-runtime-python")
	ended := make(chan outcome, 1)
	go func() { ended <- run(t, e, s.ID, cell) }()
	select {
	case o := <-ended:
		wantOutput(t, o, "1,000\n")
	case <-time.After(20 * time.Second):
		t.Fatal("the execution waits for the runtime, which is stopped")
	}
}

// stopRuntimes stops the processes of that name that this test has started, until the test ends.
func stopRuntimes(t *testing.T, name string) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", os.Getpid()))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("looking for this process's children: %d tasks, %v", len(tasks), err)
	}
	stopped := 0
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // of a thread that has ended there are none
		for _, child := range strings.Fields(string(children)) {
			argv, _ := os.ReadFile("/proc/" + child + "/cmdline")
			pid, err := strconv.Atoi(child)
			if err != nil || !strings.Contains(string(argv), name) {
				continue
			}
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
			stopped++
		}
	}
	if stopped == 0 {
		t.Fatalf("there is no process %s to stop", name)
	}
}

// TestTemplatePackagesLaterForAFunction is the same, where the first to need them is the
// process of a Lambda function: its invocation waits, and the next ones go to it.
func TestTemplatePackagesLaterForAFunction(t *testing.T) {
	t.Parallel()
	e := node(t)
	s, err := e.CreateSandbox(t.Context(), specOf(furnished("humanize==4.9.0", "")))
	if err != nil {
		t.Fatal(err)
	}
	for first := true; ; first = false {
		o := run(t, e, s.ID, invocation())
		if wantOutput(t, o, "1,000\n"); o.installed() != first || o.KernelRestarted || string(o.Result.Result) != "1" {
			t.Errorf("it was installed: %v, want %v; result %s, restarted: %v", o.installed(), first, o.Result.Result, o.KernelRestarted)
		}
		if !first {
			return
		}
	}
}

// TestBadTemplatePackages: packages that cannot be installed are an error of the template, which
// gives the reason.
func TestBadTemplatePackages(t *testing.T) {
	e := node(t, func(c *executor.Config) { c.Packages.Timeout = time.Minute })
	for name, tt := range map[string]struct {
		template yurt.Template
		code     yurt.Code
		says     string
	}{
		"no such package": {furnished("yurt-no-such-package-7f3a", ""), yurt.CodeTemplateInvalid, "No matching distribution found for yurt-no-such-package-7f3a"},
		"no such version": {furnished("six==1.16.0", "ms@99.0.0"), yurt.CodeTemplateInvalid, "ms@99.0.0"},
		"no package manager": {
			hcl.WithDefaults(yurt.Template{Name: "shell", Runtimes: []string{"bash"}, Dependencies: map[string][]string{"bash": {"x"}}}), yurt.CodeNotSupported, "no packages can be installed for bash",
		},
		"no crate": {
			hcl.WithDefaults(yurt.Template{Name: "rust", Runtimes: []string{"rust"}, Dependencies: map[string][]string{"rust": {"a b c"}}}), yurt.CodeInvalidArgument, "is not a crate",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			err := e.PrepareTemplate(t.Context(), tt.template, func(text string) error { said.WriteString(text); return nil })
			if yurt.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v (%s), want %s that says %q", err, yurt.CodeOf(err), tt.code, tt.says)
			}
			if tt.code == yurt.CodeTemplateInvalid && said.Len() == 0 {
				t.Error("nothing is told of the installation")
			}
		})
	}
}

// TestTemplateKernel: a kernel that comes with the template's packages finds them when it is
// started ahead, and with its first execution.
func TestTemplateKernel(t *testing.T) {
	t.Parallel()
	e := node(t)
	template := furnished("ipykernel==7.1.0", "")
	template.Runtimes, template.Kernels, template.WarmPool.Interpreter = []string{"python"}, map[string]string{"python": "ipykernel"}, true
	if _, err := e.ReserveSandbox(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	warm, found, err := e.ClaimSandbox(t.Context(), specOf(template))
	if err != nil || !found {
		t.Fatalf("claimed %v, %v", found, err)
	}
	cold, err := e.CreateSandbox(t.Context(), specOf(template))
	if err != nil {
		t.Fatal(err)
	}
	const code = "print(type(get_ipython()).__module__, b'PYTHONPATH=' in open('/proc/self/environ', 'rb').read())"
	for _, sandbox := range []string{warm.ID, cold.ID} {
		wantOutput(t, run(t, e, sandbox, yurt.ExecutionSpec{Language: "python", ContextName: yurt.DefaultContext, Code: code}), "ipykernel.zmqshell True\n")
	}
}
