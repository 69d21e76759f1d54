package javascript

import (
	"context"
	"embed"
	"path"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

//go:embed kernel.mjs
var kernel []byte

// kernelParts are the files that kernel.mjs loads.
//
//go:embed cell.mjs compile.mjs complete.mjs display.mjs errors.mjs interrupter.cjs interrupts.mjs names.mjs output.mjs places.mjs reload.mjs stdin.mjs syntax.mjs
var kernelParts embed.FS

var _ plugins.KernelPlanner = Runtime{}

// PlanKernel implements [plugins.KernelPlanner].
func (Runtime) PlanKernel(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	return KernelPlan(req)
}

// KernelPlan returns the plan of a kernel for JavaScript, with arguments after its directory.
func KernelPlan(req plugins.KernelRequest, args ...string) (plugins.KernelPlan, error) {
	files := []plugins.File{program("kernel.mjs", kernel)}
	parts, err := kernelParts.ReadDir(".")
	if err != nil {
		return plugins.KernelPlan{}, yurt.Errorf(yurt.CodeInternal, "listing the parts of the kernel: %w", err)
	}
	for _, part := range parts {
		data, err := kernelParts.ReadFile(part.Name())
		if err != nil {
			return plugins.KernelPlan{}, yurt.Errorf(yurt.CodeInternal, "reading a part of the kernel: %w", err)
		}
		files = append(files, plugins.File{Path: part.Name(), Data: data, Mode: 0o644})
	}
	return plugins.KernelPlan{
		Files: files,
		Argv: append([]string{
			req.Tools["node"], "--expose-internals", "--no-force-async-hooks-checks",
			"--experimental-vm-modules", "--experimental-import-meta-resolve", "--no-warnings=ExperimentalWarning",
			path.Join(req.Dir, "kernel.mjs"), req.Dir,
		}, args...),
	}, nil
}
