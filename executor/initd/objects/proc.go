package objects

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
)

// thread returns the directory of a thread of the process that has not ended, and its mappings. All threads of a process have the same files,
// which the list of system calls sees to. A process that has ended has no such thread, and one of code that cannot be looked at, as one
// whose program may not be read, is unknown: it may have as many objects as there are.
func thread(dir string) (path string, maps []byte, unknown bool) {
	for _, name := range names(dir + "/task") {
		path = dir + "/task/" + name
		maps, err := os.ReadFile(path + "/maps")
		switch {
		case errors.Is(err, fs.ErrPermission) && !isRoot(dir):
			return "", nil, true
		case len(maps) > 0:
			return path, maps, false
		}
	}
	return "", nil, false
}

// isRoot reports whether a process is not code's but yurt-init's own.
func isRoot(dir string) bool {
	status, err := os.ReadFile(dir + "/status")
	return err == nil && bytes.Contains(status, []byte("\nUid:\t0\t0\t0\t0\n"))
}

// names returns the names in a directory; of a process that has ended, an empty list.
func names(dir string) []string {
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	list, _ := file.Readdirnames(-1)
	return list
}
