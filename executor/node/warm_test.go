package node_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/test/testutil"
)

// claimAhead claims a sandbox that waited with its interpreter.
func claimAhead(t *testing.T, e *executor.Executor, change ...func(*yurt.SandboxSpec)) yurt.Sandbox {
	t.Helper()
	return claimAheadOf(t, e, warmTemplate(t), change...)
}

// claimAheadOf claims a sandbox of the template, which waited.
func claimAheadOf(t *testing.T, e *executor.Executor, template yurt.Template, change ...func(*yurt.SandboxSpec)) yurt.Sandbox {
	t.Helper()
	node.GrantZygotes(e.Node, patience(t))
	if _, err := e.ReserveSandbox(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources}
	for _, c := range change {
		c(&spec)
	}
	s, found, err := e.ClaimSandbox(t.Context(), spec)
	if err != nil || !found {
		t.Fatalf("claimed: %t, %v", found, err)
	}
	return s
}

func warmTemplate(t *testing.T) yurt.Template {
	t.Helper()
	template := testutil.Template()
	template.WarmPool = yurt.WarmPool{Interpreter: true}
	return template
}

// kernelsOf lists the kernels that run in a sandbox.
func kernelsOf(t *testing.T, e *executor.Executor, sandbox string) (kernels []string) {
	t.Helper()
	processes, err := e.Processes(t.Context(), sandbox)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if !strings.HasPrefix(p.ExecutionID, "zygote-") {
			kernels = append(kernels, p.ExecutionID)
		}
	}
	return kernels
}

// TestInterpreterIsThereAtTheClaim: the kernel of the context "default" runs before anybody
// has the sandbox, belongs to no caller until it is used, and is the one that is used.
func TestInterpreterIsThereAtTheClaim(t *testing.T) {
	e := testutil.Executor(t)
	s := claimAhead(t, e)
	kernels := kernelsOf(t, e, s.ID)
	if len(kernels) != 1 {
		t.Fatalf("kernels %q", kernels)
	}
	if contexts, err := e.Contexts(t.Context(), s.ID); err != nil || len(contexts) != 0 {
		t.Errorf("contexts %+v, %v", contexts, err)
	}
	for range 2 {
		r := testutil.Execute(t, e, s.ID, testutil.Cell("try: x += 1\nexcept NameError: x = 1\nprint(x)"))
		if r.Error != nil || r.KernelRestarted {
			t.Errorf("error %+v, restarted %t", r.Error, r.KernelRestarted)
		}
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Cell("x")); string(r.Result) != "2" {
		t.Errorf("result %s, error %+v", r.Result, r.Error)
	}
	if now := kernelsOf(t, e, s.ID); len(now) != 1 || now[0] != kernels[0] {
		t.Errorf("kernels %q, before %q", now, kernels)
	}
	if contexts, err := e.Contexts(t.Context(), s.ID); err != nil || len(contexts) != 1 || contexts[0].Executions != 3 {
		t.Errorf("contexts %+v, %v", contexts, err)
	}
}

// TestPreloadBringsTheInterpreter: a sandbox that waits with modules imported has its interpreter too, and it has them.
func TestPreloadBringsTheInterpreter(t *testing.T) {
	e := testutil.Executor(t)
	template := testutil.Template()
	template.Preload = []string{"decimal"}
	s := claimAheadOf(t, e, template)
	kernels := kernelsOf(t, e, s.ID)
	if len(kernels) != 1 {
		t.Fatalf("kernels %q", kernels)
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Cell("import sys; 'decimal' in sys.modules")); string(r.Result) != "true" {
		t.Errorf("result %s, error %+v", r.Result, r.Error)
	}
	if now := kernelsOf(t, e, s.ID); len(now) != 1 || now[0] != kernels[0] {
		t.Errorf("kernels %q, before %q", now, kernels)
	}
}

// TestInterpreterOutlivesTheTemplatesEnvironment: a claim that repeats the template's environment, as that of a session does,
// keeps the interpreter and its zygote.
func TestInterpreterOutlivesTheTemplatesEnvironment(t *testing.T) {
	e := testutil.Executor(t)
	template := warmTemplate(t)
	template.Env = map[string]string{"OF_TEMPLATE": "yes", "PYTHONPATH": "/usr/lib/python3"} // in the files of the host
	s := claimAheadOf(t, e, template, func(s *yurt.SandboxSpec) { s.Env = maps.Clone(template.Env) })
	kernels := kernelsOf(t, e, s.ID)
	if len(kernels) != 1 {
		t.Fatalf("kernels %q, want one", kernels)
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Cell("print("+isFork+")")); r.Stdout != "1\n" {
		t.Errorf("a cell: %q, want a fork; stderr %q", r.Stdout, r.Stderr)
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Python("print("+isFork+")")); r.Stdout != "1\n" {
		t.Errorf("a run: %q, want a fork; stderr %q", r.Stdout, r.Stderr)
	}
	if now := kernelsOf(t, e, s.ID); !slices.Equal(now, kernels) {
		t.Errorf("kernels %q, before %q", now, kernels)
	}
}

// TestInterpreterHasTheEnvironmentOfTheClaim: one that was started without is not used.
func TestInterpreterHasTheEnvironmentOfTheClaim(t *testing.T) {
	e := testutil.Executor(t)
	s := claimAhead(t, e, func(s *yurt.SandboxSpec) { s.Env = map[string]string{"OF_CLAIM": "yes"} })
	for _, spec := range []yurt.ExecutionSpec{testutil.Cell("import os; print(os.environ['OF_CLAIM'])"), testutil.Python("import os; print(os.environ['OF_CLAIM'])")} {
		if r := testutil.Execute(t, e, s.ID, spec); r.Stdout != "yes\n" || r.KernelRestarted {
			t.Errorf("got %q, stderr %q, restarted %t", r.Stdout, r.Stderr, r.KernelRestarted)
		}
	}
}

// TestFirstRunAfterAClaimIsAFork, and its kernel another.
func TestFirstRunAfterAClaimIsAFork(t *testing.T) {
	e := testutil.Executor(t)
	s := claimAhead(t, e)
	if r := testutil.Execute(t, e, s.ID, testutil.Python("print("+isFork+")")); r.Stdout != "1\n" {
		t.Errorf("a run: %q, stderr %q", r.Stdout, r.Stderr)
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Cell("print("+isFork+")")); r.Stdout != "1\n" {
		t.Errorf("a kernel: %q, stderr %q", r.Stdout, r.Stderr)
	}
}

// TestForkedKernelsAreLikeOthers runs the same cells in a kernel that was forked and in one
// that was started.
func TestForkedKernelsAreLikeOthers(t *testing.T) {
	e := testutil.Executor(t)
	forked, started := claimAhead(t, e).ID, testutil.Create(t, e).ID
	for _, code := range []string{
		"print(" + isFork + " >= 0)", "import sys; print(sys.argv, sys.path, sys.executable, __name__)",
		"print(sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering, sys.stdout.write_through, sys.stderr.errors)",
		"import os; print(sorted((k, v) for k, v in os.environ.items() if 'krn_' not in v), os.getcwd(), os.umask(0), os.getppid(), os.getpid() == os.getsid(0))",
		"print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:6])", "import resource; [resource.getrlimit(n) for n in range(16)]",
		"def f(): raise ValueError('x')\nf()", "x = (", "{'a': [1, 2.5]}", "import asyncio; await asyncio.sleep(0, 5)",
		"class A:\n  def _repr_html_(self): return '<b>'\n  def __repr__(self): return 'A'\nA()", "from IPython.display import HTML; HTML('<i>')", "%time",
		"import subprocess; subprocess.run('echo out; echo err >&2', shell=True).returncode", "for i in range(3): print(i)",
		"input()", "list(range(2000))", "import ctypes, socket, struct, json, random, tempfile; json.__file__", "print('é', '\\ud800')",
		"l = [l for l in open('/proc/self/status') if l.startswith(('Cap', 'Sig', 'Seccomp', 'NoNew', 'Uid', 'Gid', 'Groups', 'TracerPid', 'Threads'))]; l",
		"import threading; t = threading.Thread(target=print, args=('in a thread',)); t.start(); t.join()", "sys.exit(3)", "1 + 1",
	} {
		a, b := testutil.Execute(t, e, forked, testutil.Cell(code)), testutil.Execute(t, e, started, testutil.Cell(code))
		for _, r := range []*yurt.Result{a, b} {
			r.Metrics, r.StartedAt, r.EndedAt = yurt.Metrics{}, time.Time{}, time.Time{}
			r.Outline = nil // it has times
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("%s (- started, + forked):\n%s", code, diff)
		}
	}
}

// TestPreload: the modules that a template names are imported before a run begins, unless files of the user's would
// have taken their place.
func TestPreload(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Template.Preload = []string{"decimal", "json.tool"} })
	untilForked(t, e, s.ID)
	imported := "import sys; print(" + isFork + ", 'decimal' in sys.modules, 'json.tool' in sys.modules)\nimport decimal; print(decimal.__file__)"
	const library = "/usr/lib/python3"
	if r := testutil.Execute(t, e, s.ID, testutil.Python(imported)); !strings.HasPrefix(r.Stdout, "1 True True\n"+library) {
		t.Errorf("got %q, stderr %q", r.Stdout, r.Stderr)
	}
	own := func(name string) func(*yurt.ExecutionSpec) {
		return func(s *yurt.ExecutionSpec) { s.Files = []yurt.SourceFile{{Path: name, Data: []byte("mine = 1")}} }
	}
	inFolder := func(s *yurt.ExecutionSpec) {
		s.Code, s.Entry = "", "app/main.py"
		s.Files = []yurt.SourceFile{{Path: "app/main.py", Data: []byte(imported)}, {Path: "app/decimal.py"}}
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Python("", inFolder)); r.Stdout != "0 False False\n/workspace/app/decimal.py\n" {
		t.Errorf("a project: %q, stderr %q, error %+v", r.Stdout, r.Stderr, r.Error)
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Cell(imported)); !strings.HasPrefix(r.Stdout, "1 True True\n"+library) {
		t.Errorf("a kernel: %q, stderr %q", r.Stdout, r.Stderr)
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Python(imported, own("decimal.txt"))); !strings.HasPrefix(r.Stdout, "1 True True\n") {
		t.Errorf("beside a file that is no module: %q, stderr %q", r.Stdout, r.Stderr)
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Python(imported, own("decimal.py"))); r.Stdout != "0 False False\n/workspace/decimal.py\n" {
		t.Errorf("a module of the user's: %q, stderr %q", r.Stdout, r.Stderr)
	}
}

// TestFirstCellFindsPreload: the first code in a sandbox that was just made waits for the interpreter that imports its
// template's modules, and is a fork of it. Code in an existing context, or with a module of the user's, is not.
func TestFirstCellFindsPreload(t *testing.T) {
	e := testutil.Executor(t)
	node.GrantZygotes(e.Node, patience(t))
	preloading := func(s *yurt.SandboxSpec) { s.Template.Preload = []string{"decimal"} }
	s := testutil.Create(t, e, preloading)
	const code = "import sys; print(" + isFork + ", 'decimal' in sys.modules)"
	for _, name := range []string{"default", "another"} {
		if r := testutil.Execute(t, e, s.ID, testutil.Cell(code, func(s *yurt.ExecutionSpec) { s.ContextName = name })); r.Stdout != "1 True\n" {
			t.Errorf("context %s: stdout %q, want a fork with the module imported; stderr %q", name, r.Stdout, r.Stderr)
		}
	}
	s = testutil.Create(t, e, preloading)
	mine := testutil.Cell("import decimal; print(decimal.__file__)", func(s *yurt.ExecutionSpec) {
		s.Files = []yurt.SourceFile{{Path: "decimal.py", Data: []byte("mine = 1")}}
	})
	if r := testutil.Execute(t, e, s.ID, mine); r.Stdout != "/workspace/decimal.py\n" {
		t.Errorf("beside a module of the user's, stdout is %q, want that module's file; stderr %q", r.Stdout, r.Stderr)
	}
}

// TestPreloadThatFails: a module that cannot be imported ahead is reported missing when it is used, as without preloading.
func TestPreloadThatFails(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Template.Preload = []string{"there_is_none_such"} })
	for range 3 {
		if r := testutil.Execute(t, e, s.ID, testutil.Python("print("+isFork+")")); r.Stdout != "0\n" || r.Error != nil {
			t.Errorf("got %q, stderr %q, error %+v", r.Stdout, r.Stderr, r.Error)
		}
	}
}
