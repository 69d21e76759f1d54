package notebook

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/test/testutil"
)

const python = "/usr/bin/python3" // as in sandboxes

// document is a notebook in the format of Jupyter, as far as it is used here.
type document struct {
	Cells []cell `json:"cells"`
}

type cell struct {
	Type     string         `json:"cell_type"`
	Source   []string       `json:"source"`
	Metadata map[string]any `json:"metadata"`
}

func (c cell) code() string { return strings.Join(c.Source, "") }

// outcome is the outcome of a cell.
type outcome struct {
	Stdout   string         `json:"stdout"`
	Stderr   string         `json:"stderr"`
	Displays []yurt.Display `json:"displays"`
	Main     *int           `json:"main"` // index of the value of the last expression
	Error    *failure       `json:"error"`
	// Tracebacks are those that ipykernel shows, the last line of each. A cell that has no error
	// has gone on after them.
	Tracebacks []string `json:"tracebacks"`
}

type failure struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
}

func load(t *testing.T, path string) document {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	d.Cells = slices.DeleteFunc(d.Cells, func(c cell) bool { return c.Type != "code" })
	return d
}

// install returns a directory that pip has filled with packages, once.
func install(t *testing.T, name string, fill func(dir string) [][]string) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").Output()
	if err != nil {
		t.Fatalf("asking %s for its version: %v", python, err)
	}
	name = filepath.Join("notebook", name+"-python"+strings.TrimSpace(string(version)))
	return testutil.Cached(t, name, func(dir string) {
		for _, argv := range fill(dir) {
			if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%q: %v\n%s", argv, err, out)
			}
		}
	})
}

// libraries returns where the packages are that the cells import: the same for both.
func libraries(t *testing.T) string {
	t.Helper()
	return install(t, "libraries-1", func(dir string) [][]string { // another number where a version changes
		return [][]string{{
			python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--root-user-action", "ignore", "--target", dir,
			"numpy==2.3.5", "pandas==2.3.3", "matplotlib==3.10.7", "pillow==13.0.0", "plotly==7.1.0", "sympy==1.14.0",
			"jinja2==3.1.6", "tqdm==4.70.1", "nbformat==5.11.1",
		}}
	})
}

// jupyter returns the interpreter that has ipykernel, IPython and a client.
func jupyter(t *testing.T) string {
	t.Helper()
	venv := install(t, "jupyter-1", func(dir string) [][]string {
		return [][]string{
			{python, "-m", "venv", dir},
			{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir", "ipykernel==7.1.0", "ipython==9.18.1", "jupyter_client==8.6.3", "ipywidgets==8.1.9"},
		}
	})
	return filepath.Join(venv, "bin", "python")
}

// sitePackages is where the packages of that interpreter are.
func sitePackages(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(jupyter(t)), "..", "lib", "python3*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("packages are at %q, %v", found, err)
	}
	return found[0]
}

// throughIPykernel runs the cells of a notebook in an ipykernel.
func throughIPykernel(t *testing.T, cells document, libraries string) []outcome {
	t.Helper()
	dir := t.TempDir()
	notebook, work := filepath.Join(dir, "all.ipynb"), filepath.Join(dir, "work")
	data, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(notebook, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(dir, "outcomes"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	complaints, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer complaints.Close()
	ctx := t.Context()
	if end, ok := t.Deadline(); ok { // in time to name the cell that it waits for
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-time.Minute))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, jupyter(t), "peer.py", notebook, work)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	// No configuration of the user's.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "PYTHONPATH=" + libraries}
	cmd.Stdout, cmd.Stderr = said, complaints
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(complaints.Name())
		t.Fatalf("ipykernel: %v\n%s", err, text)
	}
	return outcomes(t, said.Name(), len(cells.Cells))
}

func outcomes(t *testing.T, path string, count int) []outcome {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []outcome
	for line := range bytes.Lines(data) {
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, o)
	}
	if len(all) != count {
		t.Fatalf("ipykernel answered %d of %d cells", len(all), count)
	}
	return all
}

// template has the kernel, and the directories of libraries.
func template(t *testing.T, libraries, kernel string) yurt.Template {
	t.Helper()
	made := pythonTemplate(t)
	made.RootFS.HostPaths = append(made.RootFS.HostPaths, filepath.SplitList(libraries)...)
	made.Env = map[string]string{"PYTHONPATH": libraries}
	if kernel != "" {
		made.Kernels = map[string]string{"python": kernel}
	}
	return made
}

// offering is the configuration of an executor that offers its sandboxes the directories.
func offering(t *testing.T, libraries string) executor.Config {
	t.Helper()
	config := testutil.Config(t, testutil.Build(t))
	config.HostPaths = append(yurt.OfferedHostPaths(), filepath.SplitList(libraries)...)
	return config
}

// session is a sandbox with one context.
type session struct {
	executor *executor.Executor
	sandbox  string
}

func open(t *testing.T, e *executor.Executor, template yurt.Template) session {
	t.Helper()
	s, err := e.CreateSandbox(t.Context(), yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources})
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
	return session{e, s.ID}
}

func (s session) start(t *testing.T, code string, change ...func(*yurt.ExecutionSpec)) (id string) {
	t.Helper()
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCode, Language: "python", ContextName: yurt.DefaultContext, Code: code,
		Timeout: yurt.Duration(5 * time.Minute), OutputLimit: yurt.DefaultOutputLimit,
	}
	for _, c := range change {
		c(&spec)
	}
	if err := s.executor.StartExecution(t.Context(), s.sandbox, spec); err != nil {
		t.Fatalf("starting: %v\n%s", err, spec.Code)
	}
	return spec.ID
}

func (s session) wait(t *testing.T, id string) *yurt.Result {
	t.Helper()
	r, err := s.executor.WaitExecution(t.Context(), s.sandbox, id)
	if err != nil {
		t.Fatalf("waiting: %v", err)
	}
	return r
}

func (s session) run(t *testing.T, code string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	t.Helper()
	return s.wait(t, s.start(t, code, change...))
}

// throughYurt runs the cells of a notebook in a context of a sandbox, which has the kernel and
// the directories of libraries.
func throughYurt(t *testing.T, cells document, libraries, kernel string) []outcome {
	t.Helper()
	config := offering(t, libraries)
	config.Transient = true
	s := open(t, testutil.Start(t, config), template(t, libraries, kernel))
	var all []outcome
	for _, c := range cells.Cells {
		r := s.run(t, c.code())
		o := outcome{Stdout: r.Stdout, Stderr: r.Stderr, Displays: r.Displays, Main: r.MainDisplay}
		if r.Error != nil {
			o.Error = &failure{r.Error.Type, r.Error.Message, strings.Join(r.Error.Stacktrace, "\n")}
		}
		all = append(all, o)
	}
	return all
}

func pythonTemplate(t *testing.T) yurt.Template {
	t.Helper()
	templates, err := hcl.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, template := range templates {
		if template.Name == "python-basic" {
			return template
		}
	}
	t.Fatal("there is no template python-basic")
	return yurt.Template{}
}
