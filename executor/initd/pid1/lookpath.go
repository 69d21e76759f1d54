package pid1

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yurtrun/yurt/executor/initd"
)

// lookPath finds the command in the PATH of its own environment, as execvp(3)
// does, where the standard library would use ours.
func lookPath(start initd.StartRequest) (string, error) {
	name := start.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, entry := range start.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(start.Dir, dir)
		}
		candidate := filepath.Join(dir, name)
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", refusal(initd.ReasonNoCommand, fmt.Errorf("%s: command not found in PATH (%s)", name, path))
}
