package python

import (
	"cmp"
	"context"
	_ "embed"
	"path"

	"github.com/yurtrun/yurt/plugins"
)

//go:embed kernel.py
var kernel []byte

//go:embed display.py
var display []byte

//go:embed pretty.py
var pretty []byte

//go:embed fonts.conf
var fonts []byte

var _ plugins.KernelPlanner = Runtime{}

// PlanKernel implements [plugins.KernelPlanner].
func (Runtime) PlanKernel(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	return plugins.KernelPlan{
		Files: []plugins.File{
			{Path: "kernel.py", Data: kernel, Mode: 0o644},
			{Path: "display.py", Data: display, Mode: 0o644},
			{Path: "pretty.py", Data: pretty, Mode: 0o644},
			{Path: "fonts.conf", Data: fonts, Mode: 0o644},
		},
		Argv: []string{cmp.Or(req.Tools[tool], defaultInterpreter), path.Join(req.Dir, "kernel.py"), req.Dir},
		Env: map[string]string{
			"PYTHONUTF8":   "1",
			"MPLCONFIGDIR": "/tmp/.matplotlib", // rather than in the user's workspace
		},
	}, nil
}
