//go:build linux && cgo && seccomp

package libcontainer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/hugepage"
	"github.com/yurtrun/yurt/executor/procview"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// skeletonDir is where root file systems are laid out. It exists on every host, users of a sandbox may pass through
// it, and no sandbox binds a directory below it. Only this process sees its mounts there.
const skeletonDir = "/mnt"

// skeletons are the root file systems that were laid out, by their layout. They hold mount points, links, small files and
// devices. A sandbox sees them through mounts of its own, see root.
type skeletons struct {
	initBin []byte

	mu   sync.Mutex
	made map[string]*skeleton // by digest, which names its directory too
}

// skeleton is one of them.
type skeleton struct {
	path  string
	root  layout.Layout
	trees []tree
}

func newSkeletons(initBin string) (*skeletons, error) {
	data, err := os.ReadFile(initBin)
	if err != nil {
		return nil, fmt.Errorf("reading yurt-init: %w", err)
	}
	if err := unix.Mount("skeletons", skeletonDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return nil, fmt.Errorf("mounting at %s: %w", skeletonDir, err)
	}
	return &skeletons{initBin: data, made: make(map[string]*skeleton)}, makeBottom()
}

// of returns the skeleton for the layout, making it if need be.
func (s *skeletons) of(root layout.Layout) (*skeleton, error) {
	data, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("laying out the root file system: %w", err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:8])
	s.mu.Lock()
	defer s.mu.Unlock()
	if made := s.made[digest]; made != nil {
		return made, nil
	}
	if root.Image != "" {
		if err := s.discardStale(root); err != nil {
			return nil, fmt.Errorf("laying out the root file system: %w", err)
		}
	}
	made := &skeleton{path: filepath.Join(skeletonDir, digest), root: root}
	if made.trees, err = treesOf(root.Binds); err == nil {
		err = s.build(made.path, root)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("laying out the root file system: %w", err), s.discard(made.path))
	}
	s.made[digest] = made
	return made, nil
}

// discardStale removes the skeletons of images that were removed, or have come again since.
// Sandboxes hold the image that they have.
func (s *skeletons) discardStale(next layout.Layout) error {
	for digest, made := range s.made {
		if made.root.Image == "" {
			continue
		}
		_, err := os.Stat(made.root.Image)
		replaced := made.root.Image == next.Image && made.root.ImageID != next.ImageID
		if !replaced && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		delete(s.made, digest)
		if err := s.discard(made.path); err != nil {
			return err
		}
	}
	return nil
}

// discard removes a skeleton, or as much as there is of it.
func (s *skeletons) discard(path string) error {
	err := unix.Unmount(filepath.Join(path, layout.DevDir), unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmounting %s: %w", layout.DevDir, err)
	}
	return os.RemoveAll(path)
}

func (s *skeletons) build(path string, root layout.Layout) error {
	if err := mkdir(path); err != nil {
		return err
	}
	within, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer within.Close()
	if err := s.fill(within, root); err != nil {
		return err
	}
	if info, err := within.Lstat(local(layout.DevDir)); err != nil || !info.IsDir() { // a mount would follow a link
		return errors.Join(fmt.Errorf("%s is no directory of the layout", layout.DevDir), err)
	}
	return makeDevices(filepath.Join(path, layout.DevDir), root.Devices)
}

// fill makes all in the skeleton but devices. An absolute link leads to the host here, so
// each write is one within the skeleton, and fails where a link leads out.
func (s *skeletons) fill(within *os.Root, root layout.Layout) error {
	for _, dir := range append([]string{layout.EmptyDir, layout.ProcDir}, root.Dirs...) {
		if err := mkdirWithin(within, dir); err != nil {
			return err
		}
	}
	for _, link := range root.Links {
		if err := within.Symlink(link.Target, local(link.Path)); err != nil {
			return err
		}
	}
	for _, file := range root.Files {
		if err := writeFile(within, file.Path, []byte(file.Data), 0o644); err != nil {
			return err
		}
	}
	if err := writeInit(within, s.initBin); err != nil {
		return err
	}
	return writeShared(within)
}

// local returns an absolute path inside the sandbox as one within its skeleton.
func local(path string) string { return strings.TrimPrefix(path, "/") }

// writeShared writes the files in the place of those of /proc that are the same in all sandboxes.
func writeShared(within *os.Root) error {
	files, err := procview.Shared()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := writeFile(within, filepath.Join(layout.ProcDir, filepath.Base(f.Path)), f.Data, 0o444); err != nil {
			return err
		}
	}
	return nil
}

// makeDevices makes the /dev of all sandboxes: devices that anyone may use, the usual links, and mount points for each
// sandbox's own. Sandboxes with more devices have a /dev of their own.
func makeDevices(dir string, more []layout.Device) error {
	if err := unix.Mount("devices", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=64k,nr_inodes=256"); err != nil {
		return fmt.Errorf("mounting at %s: %w", dir, err)
	}
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		if err := makeDevice(filepath.Join(dir, name), layout.Device{Major: 1, Minor: minor, Access: "rw"}); err != nil {
			return err
		}
	}
	if err := makeDevice(filepath.Join(dir, "tty"), layout.Device{Major: 5, Access: "rw"}); err != nil {
		return err
	}
	if err := makeMore(dir, more); err != nil {
		return err
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"pts", "shm"} {
		if err := mkdir(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_RDONLY, "")
}

// makeMore makes the devices that were asked for, with the directories that they are in.
func makeMore(dir string, devices []layout.Device) error {
	for _, d := range devices {
		below, err := filepath.Rel(layout.DevDir, d.Path)
		if err != nil || !filepath.IsLocal(below) {
			return fmt.Errorf("%s is not in %s", d.Path, layout.DevDir)
		}
		parent := dir
		for name := range strings.SplitSeq(filepath.Dir(below), "/") {
			if parent = filepath.Join(parent, name); parent == dir {
				continue
			}
			if err := mkdir(parent); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}
		if err := makeDevice(filepath.Join(dir, below), d); err != nil {
			return err
		}
	}
	return nil
}

// makeDevice makes a node with the mode that its access comes to.
func makeDevice(path string, d layout.Device) error {
	mode := os.FileMode(0)
	if strings.Contains(d.Access, "r") {
		mode |= 0o444
	}
	if strings.Contains(d.Access, "w") {
		mode |= 0o222
	}
	kind := uint32(unix.S_IFCHR)
	if d.Block {
		kind = unix.S_IFBLK
	}
	if err := unix.Mknod(path, kind, int(unix.Mkdev(d.Major, d.Minor))); err != nil {
		return fmt.Errorf("making %s: %w", path, err)
	}
	return os.Chmod(path, mode)
}

// mkdir, mkdirWithin and writeFile set modes in spite of the umask.
func mkdir(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}

func mkdirWithin(within *os.Root, path string) error {
	if err := within.Mkdir(local(path), 0o755); err != nil {
		return err
	}
	return within.Chmod(local(path), 0o755)
}

// writeInit writes the program yurt-init. It is to be executed but not read: the kernel then lets no
// process of the sandbox look into one that runs it.
func writeInit(within *os.Root, program []byte) error {
	if err := writeFile(within, layout.InitPath, program, 0o711); err != nil {
		return err
	}
	file, err := within.Open(local(layout.InitPath))
	if err != nil {
		return err
	}
	defer file.Close()
	_ = hugepage.Collapse(file) // sandboxes are made without, and more slowly
	return nil
}

func writeFile(within *os.Root, path string, data []byte, mode os.FileMode) error {
	if err := within.WriteFile(local(path), data, mode); err != nil {
		return err
	}
	return within.Chmod(local(path), mode)
}
