package golang

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/yurtrun/yurt/plugins"
)

// CacheEnv names the variable with which a template says where its [SharedCache] is.
const CacheEnv = "YURT_GO_CACHE"

// MakeCache compiles packages of the standard library, such as "std" for all, into a build cache in
// dir, just as plans build them. It runs the go command on this host, so both are an operator's to
// choose. Existing entries are kept, and a cache that is in use can be added to.
func MakeCache(ctx context.Context, goCommand, dir string, output io.Writer, packages ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the cache: %w", err)
	}
	home, err := os.MkdirTemp("", "yurt-go-")
	if err != nil {
		return fmt.Errorf("making the cache: %w", err)
	}
	defer os.RemoveAll(home)
	cmd := exec.CommandContext(ctx, goCommand, append([]string{"build"}, packages...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, output, output
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GOCACHE=" + dir, "GOENV=off"}
	for name, value := range maps.All(environment(plugins.PlanRequest{CacheDir: home})) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compiling the standard library with %s: %w", goCommand, err)
	}
	return readable(dir)
}

// readable lets every user read the files in dir, under any umask: in a sandbox the files belong to
// the overflow user.
func readable(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("making the cache readable: %w", err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		mode := fs.FileMode(0o644)
		if entry != nil && entry.IsDir() {
			mode = 0o755
		}
		if err == nil {
			err = root.Chmod(filepath.FromSlash(path), mode)
		}
		if err != nil {
			return fmt.Errorf("making the cache readable: %w", err)
		}
		return nil
	})
}
