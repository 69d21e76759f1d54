//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// network returns the namespace of the path, or one that belongs to this sandbox alone.
func (s *server) network(path string) (*os.File, error) {
	switch path {
	case "":
		return s.networks.take()
	case nodeNetwork: // of the main thread, which never leaves it
		path = fmt.Sprintf("/proc/%d/ns/net", os.Getpid())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("joining a network namespace: %w", err)
	}
	return file, nil
}

// nodeNetwork is how the request names the namespace of the host.
const nodeNetwork = "node"

// mountOwn mounts the sandbox's own workspace, for it to be bound, and the host's directories with the ids of the user namespace. drop
// undoes that, once the sandbox has its own mounts.
func mountOwn(req *launch.CreateRequest, users *os.File) (drop func() error, err error) {
	dropWorkspace, err := mountWorkspace(req)
	if err != nil {
		return nil, err
	}
	dropBinds, err := bindAll(req, users)
	if err != nil {
		return nil, errors.Join(err, dropWorkspace())
	}
	dropProc, err := bindProc(req)
	if err != nil {
		return nil, errors.Join(err, dropBinds(), dropWorkspace())
	}
	return func() error { return errors.Join(dropProc(), dropBinds(), dropWorkspace()) }, nil
}

// bindAll mounts the host's directories for the sandbox, with the sandbox's IDs, where only this process sees them,
// and has the specification bind these mounts. release undoes it, once the sandbox has its own.
func bindAll(req *launch.CreateRequest, users *os.File) (release func() error, err error) {
	if len(req.Binds) == 0 {
		return func() error { return nil }, nil
	}
	dir := filepath.Join(skeletonDir, req.ID+".binds")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mounting the host's directories: %w", err)
	}
	made := 0
	release = func() (err error) {
		for i := range made {
			err = errors.Join(err, unix.Unmount(filepath.Join(dir, strconv.Itoa(i)), unix.MNT_DETACH))
		}
		if err != nil { // the files in it would be the host's
			return fmt.Errorf("unmounting the host's directories: %w", err)
		}
		return os.RemoveAll(dir)
	}
	trees, err := cloneAll(req.Binds, users)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	defer closeTrees(trees)
	for i, b := range req.Binds {
		place := filepath.Join(dir, strconv.Itoa(i))
		if err := trees[i].attach(place); err != nil {
			return nil, errors.Join(failedBind(b, err), release())
		}
		made++
		options := []string{"rbind", "nosuid", "nodev"}
		if b.ReadOnly {
			options = append(options, "ro")
		}
		req.Spec.Mounts = append(req.Spec.Mounts, specs.Mount{Destination: b.Target, Type: "bind", Source: place, Options: options})
	}
	return release, nil
}

func failedBind(b launch.Bind, err error) error {
	return fmt.Errorf("mounting %s of the host at %s: %w", filepath.Join("/", b.Base, b.Source), b.Target, err)
}

// clonedTree is a mount that is in no namespace yet.
type clonedTree struct {
	fd  int
	dir bool // or a file
}

// attach mounts it at the place, which comes to be.
func (t clonedTree) attach(place string) (err error) {
	if t.dir {
		err = os.Mkdir(place, 0o700)
	} else {
		err = os.WriteFile(place, nil, 0o600)
	}
	if err != nil {
		return err
	}
	return unix.MoveMount(t.fd, "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func closeTrees(trees []clonedTree) {
	for _, t := range trees {
		unix.Close(t.fd)
	}
}

// cloneAll returns a tree for each of the binds, as the host sees them now: mounts that the host made since this
// process was started may not have come here. It runs on a thread that ends afterwards, since the other threads must
// stay in this process's namespace.
func cloneAll(binds []launch.Bind, users *os.File) (trees []clonedTree, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock
		if err = enterHost(); err != nil {
			return
		}
		for _, b := range binds {
			var t clonedTree
			if t, err = clone(b, users); err != nil {
				err = failedBind(b, err)
				return
			}
			trees = append(trees, t)
		}
	}()
	<-done
	if err != nil {
		closeTrees(trees)
	}
	return trees, err
}

// enterHost puts the calling thread into the mount namespace of the executor, whose child
// this process is.
func enterHost() error {
	if unix.Gettid() == unix.Getpid() {
		return errors.New("the main thread may not leave its mount namespace")
	}
	host, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()))
	if err != nil {
		return fmt.Errorf("finding the host's mounts: %w", err)
	}
	defer host.Close()
	if err := errors.Join(unix.Unshare(unix.CLONE_FS), unix.Setns(int(host.Fd()), unix.CLONE_NEWNS)); err != nil {
		return fmt.Errorf("finding the host's mounts: %w", err)
	}
	return nil
}

// clone returns the tree of one bind.
func clone(b launch.Bind, users *os.File) (clonedTree, error) {
	source, err := openSource(b)
	if err != nil {
		return clonedTree{}, err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return clonedTree{}, err
	}
	fd, err := cloneTree(source, b.ReadOnly, users)
	return clonedTree{fd, info.IsDir()}, err
}

// openSource opens the path without following a link below its base.
func openSource(b launch.Bind) (*os.File, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	at := unix.AT_FDCWD
	if b.Base != "" {
		base, err := os.Open(b.Base)
		if err != nil {
			return nil, err
		}
		defer base.Close()
		at, how.Resolve = int(base.Fd()), unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS
	}
	fd, err := openat.At(at, b.Source, how)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), b.Source), nil
}

// cloneTree returns a mount of the source and all below it that is in no namespace yet, and that maps the owners of
// files to the sandbox's IDs. A file system without support for that is mounted as it is: in the sandbox its files
// then seem to belong to the overflow user.
func cloneTree(source *os.File, readOnly bool, users *os.File) (int, error) {
	attr := unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_IDMAP, Propagation: unix.MS_PRIVATE, Userns_fd: uint64(users.Fd()),
	}
	if readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	tree, err := unix.OpenTree(int(source.Fd()), "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, err
	}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		attr.Attr_set &^= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = 0
		err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(tree))
	}
	return tree, nil
}
