package python

import (
	"cmp"
	"context"
	_ "embed"
	"path"

	"github.com/yurtrun/yurt/plugins"
)

//go:embed zygote.py
var zygote []byte

//go:embed fork.py
var fork []byte

//go:embed memory.py
var memory []byte

//go:embed ahead.py
var ahead []byte

// The run that a zygote rehearses; as main.py and spec.json of a run. Where matplotlib is loaded ahead it draws,
// so that a fork has the memory that a first figure writes to.
const (
	rehearsal = `import sys
print()
if "matplotlib.pyplot" in sys.modules:
    import io
    import matplotlib.pyplot as plt
    plt.switch_backend("agg")
    plt.plot([1, 2, 3], [1, 4, 9], label="line")
    plt.title("title")
    plt.xlabel("label")
    plt.legend()
    plt.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    plt.close()
`
	rehearsalSpec = `{"kind":"code"}`
)

var _ plugins.ZygotePlanner = Runtime{}

// PlanZygote implements [plugins.ZygotePlanner].
func (Runtime) PlanZygote(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	plan := plugins.KernelPlan{
		Files: []plugins.File{
			{Path: "zygote.py", Data: zygote, Mode: 0o644},
			{Path: "fork.py", Data: fork, Mode: 0o644},
			{Path: "memory.py", Data: memory, Mode: 0o644},
			{Path: "ahead.py", Data: ahead, Mode: 0o644},
			program("harness.py", handlers, harness),
			kernelProgram(),
			{Path: "pretty.py", Data: pretty, Mode: 0o644},
			{Path: "rich.py", Data: rich, Mode: 0o644},
			{Path: "charts.py", Data: charts, Mode: 0o644},
			{Path: "main.py", Data: []byte(rehearsal), Mode: 0o644},
			{Path: "spec.json", Data: []byte(rehearsalSpec), Mode: 0o644},
		},
		Argv: append([]string{cmp.Or(req.Tools[tool], defaultInterpreter), path.Join(req.Dir, "zygote.py"), req.Kernel}, req.Preload...),
		Env: map[string]string{ // as that of a run, which inherits Python's own changes of it
			"PYTHONUNBUFFERED": "1",
			"PYTHONUTF8":       "1",
		},
	}
	if req.Kernel == ipython {
		plan.Files = append(plan.Files, interactiveProgram())
	}
	if req.Kernel == ipykernel {
		plan.Files = append(plan.Files, plugins.File{Path: "jupyter.py", Data: jupyter, Mode: 0o644})
	}
	if len(req.Preload) > 0 || req.Kernel != "" { // libraries for arrays start threads when they are loaded, which a fork does not have
		for _, name := range []string{"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"} {
			plan.Env[name] = "1"
		}
		plan.Env["JE_ARROW_MALLOC_CONF"] = "background_thread:false" // of pyarrow, which pandas imports
	}
	return plan, nil
}
