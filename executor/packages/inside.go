package packages

import (
	_ "embed"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt/executor/pkgcommand"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// Where sandboxes have the packages that commands of their sessions installed, and the commands.
const (
	insideDir = "/run/packages"
	PythonDir = insideDir + "/python" // the packages of Python
	NodeDir   = insideDir + "/node"   // node_modules with those of Node
	pipDir    = insideDir + "/lib"    // the module pip by which Python installs
)

//go:embed inside/pip/__init__.py
var pipInit string

//go:embed inside/pip/__main__.py
var pipMain string

// WithCommands returns the layout of a sandbox with the commands pip and npm that ask the node,
// and with empty directories for the packages that they install.
func WithCommands(root layout.Layout) layout.Layout {
	root.Dirs = slices.Clone(root.Dirs)
	for _, dir := range []string{"/run", insideDir, pkgcommand.BinDir, PythonDir, NodeDir, pipDir, pipDir + "/pip"} {
		if !slices.Contains(root.Dirs, dir) {
			root.Dirs = append(root.Dirs, dir)
		}
	}
	root.Links = slices.Clone(root.Links)
	for _, name := range pkgcommand.Names() {
		root.Links = append(root.Links, layout.Link{Path: path.Join(pkgcommand.BinDir, name), Target: layout.InitPath})
	}
	root.Files = append(slices.Clone(root.Files),
		layout.File{Path: pipDir + "/pip/__init__.py", Data: pipInit},
		layout.File{Path: pipDir + "/pip/__main__.py", Data: pipMain})
	return root
}

// AddCommands changes the environment of a process so that it finds the commands and the
// packages that they install. See [AddInstalled] for own.
func AddCommands(env map[string]string, own func(dir string) bool) {
	env["PATH"] = join(pkgcommand.BinDir, PythonDir+"/bin", pkgcommand.NodeModules+"/.bin", env["PATH"])
	for _, name := range []string{pythonPath, nodePath} {
		env[name] = addInstalled(name, env[name], own)
	}
}

// AddInstalled returns the environment of one execution in a context, where that says where
// packages are, with more places: the packages of the session come before those of the template, and after
// those that the execution itself names, which own says.
func AddInstalled(env map[string]string, own func(dir string) bool) map[string]string {
	env = maps.Clone(env)
	for _, name := range []string{pythonPath, nodePath} {
		if env[name] != "" {
			env[name] = addInstalled(name, env[name], own)
		}
	}
	return env
}

// The lists of directories in which languages look for packages.
const (
	pythonPath = "PYTHONPATH"
	nodePath   = "NODE_PATH"
)

func addInstalled(name, list string, own func(dir string) bool) string {
	installed := []string{PythonDir, pipDir}
	if name == nodePath {
		installed = []string{pkgcommand.NodeModules}
	}
	var first, rest []string
	for dir := range strings.SplitSeq(list, ":") {
		if len(rest) == 0 && own(dir) {
			first = append(first, dir)
		} else {
			rest = append(rest, dir)
		}
	}
	return join(slices.Concat(first, installed, rest)...)
}

// join makes a list of directories, each of which is in it once.
func join(dirs ...string) string {
	var list []string
	for _, dir := range dirs {
		if dir != "" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return strings.Join(list, ":")
}
