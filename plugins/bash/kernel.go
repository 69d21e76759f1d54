package bash

import (
	"context"
	_ "embed"
	"path"

	"github.com/yurtrun/yurt/plugins"
)

//go:embed kernel.sh
var kernel []byte

//go:embed shell.sh
var shell []byte

var _ plugins.KernelPlanner = Runtime{}

// PlanKernel implements [plugins.KernelPlanner].
func (Runtime) PlanKernel(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	return plugins.KernelPlan{
		Files: []plugins.File{
			{Path: "kernel.sh", Data: kernel, Mode: 0o644},
			{Path: "shell.sh", Data: shell, Mode: 0o644},
		},
		Argv: []string{req.Tools["bash"], "--norc", "--noprofile", path.Join(req.Dir, "kernel.sh"), req.Dir},
	}, nil
}
