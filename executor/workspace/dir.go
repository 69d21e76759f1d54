package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Dir is a directory inside a sandbox. Its methods may be called concurrently.
type Dir struct {
	root     *os.Root
	owned    bool // operations run as this process's user
	uid, gid int  // host ids that they run as otherwise
	// change is held while a name gets another content, so that a condition that was checked holds then.
	change sync.Mutex

	open  context.Context // of the watchers; done once the directory is closed
	close context.CancelFunc
}

// Open opens the directory of a descriptor, which stays the caller's. It does so as the user, since this process may have no right of its own to
// the directory.
func Open(dir *os.File, uid, gid int) (*Dir, error) {
	d := &Dir{uid: uid, gid: gid}
	if err := d.identified(func() error { return d.openRoot(fmt.Sprintf("/proc/self/fd/%d", dir.Fd())) }); err != nil {
		return nil, err
	}
	return d, nil
}

// At opens the directory at the path, whose components must be beyond every sandbox's reach, for this process's own user.
func At(path string) (*Dir, error) {
	d := &Dir{owned: true}
	if err := d.openRoot(path); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Dir) openRoot(path string) (err error) {
	if d.root, err = os.OpenRoot(path); err == nil {
		d.open, d.close = context.WithCancel(context.Background())
	}
	return err
}

// Close lets go of the directory, and ends every watch.
func (d *Dir) Close() error {
	d.close()
	return d.root.Close()
}

// as runs do with the file system identity of the sandbox's user. do must not start goroutines, and must not wait for the sandbox.
func (d *Dir) as(do func() error) error {
	if d.owned {
		return do()
	}
	return d.identified(do)
}

func (d *Dir) identified(do func() error) error {
	runtime.LockOSThread()
	defer func() {
		// A thread that is not its old self stays locked, and ends with its goroutine.
		if errors.Join(setFS("uid", unix.SetfsuidRetUid, os.Geteuid()), setFS("gid", unix.SetfsgidRetGid, os.Getegid())) == nil {
			runtime.UnlockOSThread()
		}
	}()
	// The group first: without root's identity it could not be changed.
	if err := errors.Join(setFS("gid", unix.SetfsgidRetGid, d.gid), setFS("uid", unix.SetfsuidRetUid, d.uid)); err != nil {
		return err
	}
	return do()
}

// setFS sets an identity and makes sure of it: the call itself reports no failure.
func setFS(what string, set func(int) (int, error), id int) error {
	if _, err := set(id); err != nil {
		return fmt.Errorf("taking on %s %d: %w", what, id, err)
	}
	if have, err := set(-1); err != nil || have != id {
		return fmt.Errorf("taking on %s %d: it is %d", what, id, have)
	}
	return nil
}
