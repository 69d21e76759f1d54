package yurt

import (
	"slices"
	"strings"
)

// OwnKernel is how a template says that contexts have the kernel of the runtime itself.
const OwnKernel = "yurt"

// Kernel names the interpreter that contexts of a runtime's language have; "" is the runtime's own.
// Where Kernels names no interpreter, a template whose packages of Python name IPython has
// IPython's shell.
func (t Template) Kernel(runtime string) string {
	const python, ipython = "python", "ipython"
	switch chosen := t.Kernels[runtime]; {
	case chosen == OwnKernel:
		return ""
	case chosen == "" && runtime == python && slices.ContainsFunc(t.Dependencies[runtime], func(d string) bool { return packageName(d) == ipython }):
		return ipython
	default:
		return chosen
	}
}

// packageName is the name in a requirement of Python, in lower case: of "IPython[test] >= 8" it is "ipython".
func packageName(requirement string) string {
	name := strings.TrimSpace(requirement)
	if end := strings.IndexAny(name, " [<>=!~;@("); end >= 0 {
		name = name[:end]
	}
	return strings.ToLower(name)
}
