package binary

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Identity tells a file from the one that replaces it.
type Identity struct {
	dev, ino uint64
	size     int64
	modified int64 // nanoseconds
}

// Identify returns the identity of a file.
func Identify(info fs.FileInfo) Identity {
	id := Identity{size: info.Size(), modified: info.ModTime().UnixNano()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino = stat.Dev, stat.Ino
	}
	return id
}

// CheckDir returns the real path of a plugin directory that only root and the current user can
// change.
func CheckDir(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", real)
	}
	if err := checkOwner(real, info); err != nil {
		return "", err
	}
	return real, checkParents(real)
}

// Check returns the real path and identity of a plugin's binary that only root and the
// current user can change.
func Check(path string) (string, Identity, error) {
	real, info, err := checkFile(path)
	if err != nil {
		return "", Identity{}, err
	}
	if info.Mode().Perm()&0o111 == 0 {
		return "", Identity{}, fmt.Errorf("%s is not executable; run chmod +x on it", real)
	}
	return real, Identify(info), nil
}

// CheckData returns the real path of a file that is no program and that only root and the current user can change.
func CheckData(path string) (string, error) {
	real, _, err := checkFile(path)
	return real, err
}

// checkFile refuses a path that does not lead to a regular file, or that others could have changed.
func checkFile(path string) (string, fs.FileInfo, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s is not a regular file", real)
	}
	if err := checkOwner(real, info); err != nil {
		return "", nil, err
	}
	return real, info, checkParents(real)
}

// checkOwner refuses a file that another user owns or every user may write.
func checkOwner(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("%s is writable by every user of this host (mode %#o); run chmod o-w on it", path, info.Mode().Perm())
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("the owner of %s cannot be read", path)
	}
	if stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d; it must belong to root or to user %d, as whom Yurt runs", path, stat.Uid, os.Geteuid())
	}
	return nil
}

// checkParents refuses a path of which everybody may replace a part. In a sticky
// directory, such as /tmp, only the owner may.
func checkParents(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s, which holds %s, is writable by every user of this host; run chmod o-w on it", dir, path)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
