package notebook

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// mostFaults is how many pages a first figure may still find missing. It is 2,400 where no figure was rehearsed, and 600
// where one was.
const mostFaults = 1200

// TestPreloadedLibraries: runs that are forked from an interpreter which has imported numpy and
// pandas have both, and draw random numbers of their own.
func TestPreloadedLibraries(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	libraries := libraries(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	config.HostPaths = append(yurt.OfferedHostPaths(), libraries)
	e := testutil.Start(t, config)
	template := pythonTemplate(t)
	template.RootFS.HostPaths = append(template.RootFS.HostPaths, libraries)
	template.Env = map[string]string{"PYTHONPATH": libraries}
	template.Preload = []string{"numpy", "numpy.random", "pandas", "matplotlib.pyplot"}
	create := func(template yurt.Template) yurt.Sandbox {
		s, err := e.CreateSandbox(t.Context(), yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources})
		if err != nil {
			t.Fatalf("creating a sandbox: %v", err)
		}
		return s
	}
	s := create(template)
	run := func(code string) string {
		spec := yurt.ExecutionSpec{
			ID: yurt.NewExecutionID(), Kind: yurt.KindCode, Language: "python", Code: code,
			Timeout: yurt.Duration(5 * time.Minute), OutputLimit: yurt.DefaultOutputLimit,
		}
		if err := e.StartExecution(t.Context(), s.ID, spec); err != nil {
			t.Fatalf("starting: %v\n%s", err, spec.Code)
		}
		r, err := e.WaitExecution(t.Context(), s.ID, spec.ID)
		if err != nil || r.Error != nil {
			t.Fatalf("%v, %+v\n%s", err, r, spec.Code)
		}
		return r.Stdout
	}
	testutil.Eventually(t, "a run has them imported", func() bool {
		return run("import sys; print('numpy' in sys.modules and 'pandas' in sys.modules)") == "True\n"
	})
	const draw = "print(numpy.random.random(), numpy.random.default_rng().random(), numpy.random.RandomState().random(), random.random())"
	first, second := strings.Fields(run("import numpy, random; "+draw)), strings.Fields(run("import numpy, random; "+draw))
	if len(first) != 4 || slices.ContainsFunc(first, func(number string) bool { return slices.Contains(second, number) }) {
		t.Errorf("two runs drew %q and %q", first, second)
	}
	if same := run("import numpy, random; numpy.random.seed(1); a = numpy.random.random(); numpy.random.seed(1); print(a == numpy.random.random())"); same != "True\n" {
		t.Errorf("a seed of the run's own: %q", same)
	}
	const ahead = "import sys\nimport matplotlib as m, matplotlib.pyplot as plt\n" +
		"changed = [k for k in m.rcParams if k != 'backend' and m.rcParams[k] != m.rcParamsDefault[k]]\n" +
		"print('matplotlib.backends.backend_agg' in sys.modules, 'matplotlib.font_manager' in sys.modules, plt.get_fignums(), changed)"
	if loaded := run(strings.Replace(ahead, "import matplotlib as m", "before = set(sys.modules)\nimport matplotlib as m", 1) + "\nprint(set(sys.modules) == before)"); loaded != "True True [] []\nTrue\n" {
		t.Errorf("before the first figure: %q, want the renderer and the fonts loaded, no figure and no changed setting of the rehearsal, and no import", loaded)
	}
	plot := session{e, s.ID}.run(t, "import sys, resource\nprint('matplotlib.pyplot' in sys.modules)\nimport matplotlib.pyplot as plt\n"+
		"faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt\nbefore = faults()\n_ = plt.plot([1, 2])\n"+
		"plt.savefig('/tmp/first.png', bbox_inches='tight')\nafter = faults()\nprint(plt.get_fignums())\nprint(after - before)")
	said := strings.Fields(plot.Stdout)
	if plot.Error != nil || len(said) != 3 || said[0] != "True" || said[1] != "[1]" || len(plot.Displays) != 1 || plot.Displays[0]["image/png"] == nil {
		t.Fatalf("a plot in a context: stdout %q, want the module imported and one figure; displays %d, want a PNG; error %+v, stderr %q",
			plot.Stdout, len(plot.Displays), plot.Error, plot.Stderr)
	}
	if faults, err := strconv.Atoi(said[2]); err != nil || faults > mostFaults {
		t.Errorf("the first figure has %s page faults, want at most %d: its memory is there ahead", said[2], mostFaults)
	}
	if table := run("import pandas; print(pandas.DataFrame({'a': [1, 2]}).describe().loc['mean'].to_dict())"); table != "{'a': 1.5}\n" {
		t.Errorf("a table: %q", table)
	}
	template.Preload = nil // a fork of an interpreter that has numpy computes with one thread
	s = create(template)
	const multiply = "import numpy, os\na = numpy.ones((800, 800))\nprint((a @ a).sum() == 800 ** 3, len(os.listdir('/proc/self/task')) > 1)"
	if product := run(multiply); product != "True True\n" {
		t.Errorf("a product of matrices that more than one thread computes: %q", product)
	}
}
