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

var _ plugins.ZygotePlanner = Runtime{}

// PlanZygote implements [plugins.ZygotePlanner].
func (Runtime) PlanZygote(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	return plugins.KernelPlan{
		Files: []plugins.File{
			{Path: "zygote.py", Data: zygote, Mode: 0o644},
			{Path: "harness.py", Data: harness, Mode: 0o644},
		},
		Argv: []string{cmp.Or(req.Tools[tool], defaultInterpreter), path.Join(req.Dir, "zygote.py")},
		Env: map[string]string{ // as that of a run, which inherits what Python makes of it
			"PYTHONUNBUFFERED": "1",
			"PYTHONUTF8":       "1",
		},
	}, nil
}
