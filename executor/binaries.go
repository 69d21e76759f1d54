package executor

import (
	"fmt"
	"path/filepath"

	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/executor/images"
)

// Binaries are the programs and plugins that an executor needs beside itself.
type Binaries struct {
	Init      string
	Launcher  string
	Unpacker  string
	Files     string
	PluginDir string
}

// FindBinaries returns where they are for the program at exe, links followed: in
// its own directory. Whether they are there, [New] checks.
func FindBinaries(exe string) (Binaries, error) {
	real, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return Binaries{}, fmt.Errorf("finding %s: %w", exe, err)
	}
	dir := filepath.Dir(real)
	return Binaries{
		Init:      filepath.Join(dir, "yurt-init"),
		Launcher:  filepath.Join(dir, "yurt-launcher"),
		Unpacker:  filepath.Join(dir, images.UnpackProgram),
		Files:     filepath.Join(dir, confine.FileServer),
		PluginDir: filepath.Join(dir, "plugins"),
	}, nil
}
