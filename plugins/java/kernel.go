package java

import (
	"bytes"
	"context"
	"embed"
	"path"
	"slices"

	"github.com/yurtrun/yurt/plugins"
)

//go:embed kernel
var kernelFiles embed.FS

var _ plugins.KernelPlanner = Runtime{}

// PlanKernel implements [plugins.KernelPlanner]: a program that Java compiles as it starts,
// which loads the compiler that JShell needs anyway.
func (Runtime) PlanKernel(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	program, err := kernelProgram()
	if err != nil {
		return plugins.KernelPlan{}, err
	}
	shell, err := kernelFiles.ReadFile("kernel/kernel.sh")
	if err != nil {
		return plugins.KernelPlan{}, err
	}
	opened := func(name string) string { return "java.base/java." + name + "=ALL-UNNAMED" }
	return plugins.KernelPlan{
		Files: []plugins.File{{Path: "Kernel.java", Data: program, Mode: 0o644}, {Path: "kernel.sh", Data: shell, Mode: 0o644}},
		Argv: slices.Concat([]string{"/bin/sh", path.Join(req.Dir, "kernel.sh"), req.Tools["java"]}, heap(req.MemoryLimit), []string{
			"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto",
			"--add-opens", opened("io"), "--add-opens", opened("util"), // descriptor 3, and the environment
			path.Join(req.Dir, "Kernel.java"), req.Dir,
		}),
	}, nil
}

// kernelProgram makes one file of those in the folder kernel, since Java starts one alone.
// Kernel.java comes first, with all imports.
func kernelProgram() ([]byte, error) {
	var parts [][]byte
	for _, name := range []string{"Kernel", "Json", "Cells", "Execution"} {
		part, err := kernelFiles.ReadFile("kernel/" + name + ".java")
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return bytes.Join(parts, nil), nil
}
