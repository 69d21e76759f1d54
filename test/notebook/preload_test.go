package notebook

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestPreloadedLibraries: runs that are forked from an interpreter which has imported numpy and
// pandas have both, and draw random numbers of their own.
func TestPreloadedLibraries(t *testing.T) {
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
	s, err := e.CreateSandbox(t.Context(), yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources})
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
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
	plot := session{e, s.ID}.run(t, "import sys\nprint('matplotlib.pyplot' in sys.modules)\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")
	if plot.Stdout != "True\n" || plot.Error != nil || len(plot.Displays) != 1 || plot.Displays[0]["image/png"] == nil {
		t.Errorf("a plot in a context: stdout %q, want the module imported; displays %d, want a PNG; error %+v, stderr %q", plot.Stdout, len(plot.Displays), plot.Error, plot.Stderr)
	}
	if table := run("import pandas; print(pandas.DataFrame({'a': [1, 2]}).describe().loc['mean'].to_dict())"); table != "{'a': 1.5}\n" {
		t.Errorf("a table: %q", table)
	}
}
