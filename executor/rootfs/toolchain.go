package rootfs

import (
	"os"
	"slices"

	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// Toolchain is the part of the host that a language runtime asks for. A runtime's wish is
// weaker than a template's demand: a path that the host lacks, that the operator does not
// offer, or that cannot be bound is left out without an error.
type Toolchain struct {
	HostPaths []string // files and directories
	Path      []string // directories of commands
}

// AddToolchains adds the files of the toolchains to a root file system of the host's directories, and returns the directories of
// commands that are among the bound ones.
func AddToolchains(root layout.Layout, toolchains []Toolchain, allowed []string) (layout.Layout, []string) {
	l := builder{root}
	var commands []string
	for _, t := range toolchains {
		for _, path := range t.HostPaths {
			if !l.has(path) {
				_ = l.host(path, allowed) // a wish, which fails before it changes the layout
			}
		}
		for _, dir := range t.Path {
			if info, err := os.Stat(dir); err == nil && info.IsDir() && below(dir, l.Binds) && !slices.Contains(commands, dir) {
				commands = append(commands, dir)
			}
		}
	}
	return l.Layout, commands
}

// has reports whether the layout has the path, or would have it twice with it.
func (l *builder) has(path string) bool {
	return below(path, l.Binds) || slices.ContainsFunc(l.Links, func(link layout.Link) bool { return link.Path == path }) ||
		slices.ContainsFunc(l.Binds, func(bound string) bool { return below(bound, []string{path}) })
}
