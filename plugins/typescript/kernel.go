package typescript

import (
	"context"
	_ "embed"

	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/javascript"
)

//go:embed erase.mjs
var erase []byte

//go:embed maps.mjs
var maps []byte

//go:embed typescript.mjs
var modules []byte

var _ plugins.KernelPlanner = Runtime{}

// PlanKernel implements [plugins.KernelPlanner] with the kernel of JavaScript, which has esbuild
// take the types out of each cell.
func (Runtime) PlanKernel(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	plan, err := javascript.KernelPlan(req, req.Tools["esbuild"])
	if err != nil {
		return plugins.KernelPlan{}, err
	}
	plan.Files = append(plan.Files,
		plugins.File{Path: "maps.mjs", Data: maps, Mode: 0o644},
		plugins.File{Path: "erase.mjs", Data: erase, Mode: 0o644},
		plugins.File{Path: "typescript.mjs", Data: modules, Mode: 0o644},
	)
	return plan, nil
}
