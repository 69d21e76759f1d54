package javascript

import (
	"context"
	_ "embed"
	"path"

	"github.com/yurtrun/yurt/plugins"
)

//go:embed kernel.mjs
var kernel []byte

//go:embed cell.mjs
var cell []byte

//go:embed complete.mjs
var complete []byte

//go:embed display.mjs
var display []byte

//go:embed places.mjs
var places []byte

//go:embed reload.mjs
var reload []byte

//go:embed interrupter.cjs
var interrupter []byte

var _ plugins.KernelPlanner = Runtime{}

// PlanKernel implements [plugins.KernelPlanner].
func (Runtime) PlanKernel(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	return KernelPlan(req), nil
}

// KernelPlan returns the plan of a kernel for JavaScript, with arguments after its directory.
func KernelPlan(req plugins.KernelRequest, args ...string) plugins.KernelPlan {
	return plugins.KernelPlan{
		Files: []plugins.File{
			program("kernel.mjs", kernel),
			{Path: "cell.mjs", Data: cell, Mode: 0o644},
			{Path: "complete.mjs", Data: complete, Mode: 0o644},
			{Path: "display.mjs", Data: display, Mode: 0o644},
			{Path: "places.mjs", Data: places, Mode: 0o644},
			{Path: "reload.mjs", Data: reload, Mode: 0o644},
			{Path: "syntax.mjs", Data: syntax, Mode: 0o644},
			{Path: "interrupter.cjs", Data: interrupter, Mode: 0o644},
		},
		Argv: append([]string{
			req.Tools["node"], "--expose-internals", "--no-force-async-hooks-checks",
			"--experimental-vm-modules", "--experimental-import-meta-resolve", "--no-warnings=ExperimentalWarning",
			path.Join(req.Dir, "kernel.mjs"), req.Dir,
		}, args...),
	}
}
