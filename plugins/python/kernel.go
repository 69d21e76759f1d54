package python

import (
	"cmp"
	"context"
	"embed"
	"path"

	"github.com/yurtrun/yurt/plugins"
)

// kernel is the folder whose files, one after the other, are the program kernel.py.
//
//go:embed kernel/*.py
var kernel embed.FS

//go:embed jupyter.py
var jupyter []byte

// interactive is the folder whose files, one after the other, are the program ipython.py.
//
//go:embed ipython/*.py
var interactive embed.FS

//go:embed display.py
var display []byte

//go:embed media.py
var media []byte

//go:embed rich.py
var rich []byte

//go:embed charts.py
var charts []byte

//go:embed pretty.py
var pretty []byte

//go:embed syntax.py
var syntax []byte

//go:embed shell.py
var shell []byte

// magics is the folder whose files, one after the other, are the file magics.py.
//
//go:embed magics/*.py
var magics embed.FS

//go:embed extension.py
var extension []byte

//go:embed complete.py
var complete []byte

//go:embed fonts.conf
var fonts []byte

// ipykernel is the kernel that a template can choose in place of the runtime's own: that of
// Jupyter, which the template has to have.
const ipykernel = "ipykernel"

// ipython is another: IPython's shell, without Jupyter. It comes first, as the kernel of a template
// whose packages name it.
const ipython = "ipython"

var _ plugins.KernelPlanner = Runtime{}

// PlanKernel implements [plugins.KernelPlanner].
func (Runtime) PlanKernel(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	main := "kernel.py"
	plan := plugins.KernelPlan{
		Files: []plugins.File{
			kernelProgram(),
			{Path: "handler.py", Data: handlers, Mode: 0o644},
			{Path: "defines.py", Data: defines, Mode: 0o644},
			{Path: "report.py", Data: report, Mode: 0o644},
			{Path: "display.py", Data: display, Mode: 0o644},
			{Path: "media.py", Data: media, Mode: 0o644},
			{Path: "rich.py", Data: rich, Mode: 0o644},
			{Path: "charts.py", Data: charts, Mode: 0o644},
			{Path: "pretty.py", Data: pretty, Mode: 0o644},
			{Path: "syntax.py", Data: syntax, Mode: 0o644},
			{Path: "shell.py", Data: shell, Mode: 0o644},
			{Path: "magics.py", Data: texts(magics, "magics", magicsParts()), Mode: 0o644},
			{Path: "extension.py", Data: extension, Mode: 0o644},
			{Path: "complete.py", Data: complete, Mode: 0o644},
			{Path: "fonts.conf", Data: fonts, Mode: 0o644},
		},
		Env: map[string]string{
			"PYTHONUTF8":   "1",
			"MPLCONFIGDIR": "/tmp/.matplotlib", // rather than in the user's workspace
		},
	}
	if req.Kernel == ipython {
		main = "ipython.py"
		plan.Files = append(plan.Files, interactiveProgram())
	}
	if req.Kernel == ipykernel {
		main = "jupyter.py"
		plan.Files = append(plan.Files, plugins.File{Path: main, Data: jupyter, Mode: 0o644})
		plan.Env["IPYTHONDIR"] = "/tmp/.ipython"
		plan.Env["PYDEVD_DISABLE_FILE_VALIDATION"] = "1" // of Python's own modules, of which its debugger warns
	}
	plan.Argv = []string{cmp.Or(req.Tools[tool], defaultInterpreter), path.Join(req.Dir, main), req.Dir}
	return plan, nil
}

// kernelParts are the files of the folder in the order in which they make up kernel.py.
func kernelParts() []string {
	return []string{"base", "wire", "show", "explain", "loop", "history", "shell", "notebook", "cell", "main"}
}

// magicsParts are the files of the folder in the order in which they make up magics.py.
func magicsParts() []string {
	return []string{"base", "time", "commands", "files", "names", "displays", "session", "history", "help"}
}

// kernelProgram returns the file kernel.py.
func kernelProgram() plugins.File {
	return program("kernel.py", texts(kernel, "kernel", kernelParts()))
}

// interactiveProgram returns the file ipython.py.
func interactiveProgram() plugins.File {
	return plugins.File{Path: "ipython.py", Data: texts(interactive, "ipython", []string{"shell", "cell", "runner"}), Mode: 0o644}
}

// texts returns the texts of the parts of a program, one after the other.
func texts(folder embed.FS, name string, parts []string) []byte {
	var all []byte
	for _, part := range parts {
		text, err := folder.ReadFile(name + "/" + part + ".py")
		if err != nil {
			panic(err) // the folder is compiled in
		}
		all = append(all, text...)
	}
	return all
}
