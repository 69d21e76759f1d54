//go:build linux && cgo && seccomp

package libcontainer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/rootfs"
)

// skeletonDir is where root file systems are laid out. Every host has it, users of
// a sandbox may pass through it, and nothing that a sandbox binds is below it. Only
// this process sees what it mounts there.
const skeletonDir = "/mnt"

// skeletons are the root file systems that were laid out, by what they look like.
// They hold mount points, links and small files, and are read-only to sandboxes,
// which share them.
type skeletons struct {
	initBin []byte

	mu   sync.Mutex
	made map[string]string // digest → path
}

func newSkeletons(initBin string) (*skeletons, error) {
	data, err := os.ReadFile(initBin)
	if err != nil {
		return nil, fmt.Errorf("reading yurt-init: %w", err)
	}
	if err := unix.Mount("skeletons", skeletonDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return nil, fmt.Errorf("mounting at %s: %w", skeletonDir, err)
	}
	return &skeletons{initBin: data, made: make(map[string]string)}, nil
}

// path returns the root file system for the layout, making it if need be.
func (s *skeletons) path(layout rootfs.Layout) (string, error) {
	data, err := json.Marshal(layout)
	if err != nil {
		return "", fmt.Errorf("laying out the root file system: %w", err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:8])
	s.mu.Lock()
	defer s.mu.Unlock()
	if path, ok := s.made[digest]; ok {
		return path, nil
	}
	path := filepath.Join(skeletonDir, digest)
	if err := s.build(path, layout); err != nil {
		return "", errors.Join(fmt.Errorf("laying out the root file system: %w", err), os.RemoveAll(path))
	}
	s.made[digest] = path
	return path, nil
}

func (s *skeletons) build(path string, layout rootfs.Layout) error {
	if err := mkdir(path); err != nil {
		return err
	}
	for _, dir := range layout.Dirs {
		if err := mkdir(filepath.Join(path, dir)); err != nil {
			return err
		}
	}
	for _, link := range layout.Links {
		if err := os.Symlink(link.Target, filepath.Join(path, link.Path)); err != nil {
			return err
		}
	}
	for _, file := range layout.Files {
		if err := writeFile(filepath.Join(path, file.Path), []byte(file.Data), 0o644); err != nil {
			return err
		}
	}
	// To be executed but not read: the kernel then lets no process of the sandbox
	// look into one that runs it.
	return writeFile(filepath.Join(path, rootfs.InitPath), s.initBin, 0o711)
}

// mkdir and writeFile set modes in spite of the umask.
func mkdir(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}

func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
