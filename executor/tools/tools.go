// Package tools looks for the programs of a language in a running sandbox, and identifies them. The root of the sandbox is its
// template's, and links in it are followed as the sandbox sees them, and never out of it. It starts no program.
package tools

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Find returns the paths, by name, of the tools that exist in the root directory of a sandbox. missing is the first required tool that
// does not exist, or nil.
func Find(root *os.File, wanted []yurt.Tool) (found map[string]string, missing *yurt.Tool, err error) {
	found = make(map[string]string, len(wanted))
	for _, tool := range wanted {
		at, err := firstProgram(int(root.Fd()), tool.Paths)
		if err != nil {
			return nil, nil, fmt.Errorf("looking for %s: %w", tool.Name, err)
		}
		switch {
		case at != "":
			found[tool.Name] = at
		case !tool.Optional:
			return nil, &tool, nil
		}
	}
	return found, nil, nil
}

// Stamps tell one installation of the tools from the next of the same paths.
func Stamps(root *os.File, found map[string]string) ([]string, error) {
	var stamps []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		stat, err := look(int(root.Fd()), found[name])
		if err != nil {
			return nil, err
		}
		stamps = append(stamps, fmt.Sprintf("%s %s %d %d", name, found[name], stat.Size, stat.Mtim.Nano()))
	}
	return stamps, nil
}

// firstProgram returns the first path below root that is an executable file.
func firstProgram(root int, paths []string) (string, error) {
	for _, path := range paths {
		stat, err := look(root, path)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES), errors.Is(err, unix.ELOOP):
			continue
		case err != nil:
			return "", err
		case stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Mode&0o111 != 0:
			return path, nil
		}
	}
	return "", nil
}

// look describes the file at the path below root.
func look(root int, path string) (stat unix.Stat_t, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := openat.At(root, path, &how)
	if err != nil {
		return stat, fmt.Errorf("opening %s: %w", path, err)
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &stat); err != nil {
		return stat, fmt.Errorf("looking at %s: %w", path, err)
	}
	return stat, nil
}
