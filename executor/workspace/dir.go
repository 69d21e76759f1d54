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
	uid, gid int // host ids that operations run as
	powers   powers
	// change is held while a name gets another content, so that a condition that was checked holds then.
	change sync.Mutex

	open  context.Context // of the watchers; done once the directory is closed
	close context.CancelFunc
}

// Open opens the directory of a descriptor, which stays the caller's. It does so as the user, since this process may have no right of its own to
// the directory.
func Open(dir *os.File, uid, gid int) (*Dir, error) {
	return open(uid, gid, func(d *Dir) error {
		return d.identified(&d.powers.all, func() error { return d.openRoot(fmt.Sprintf("/proc/self/fd/%d", dir.Fd())) })
	})
}

// At opens the directory at the path, whose components must be beyond every sandbox's reach.
func At(path string, uid, gid int) (*Dir, error) {
	return open(uid, gid, func(d *Dir) error { return d.openRoot(path) })
}

func open(uid, gid int, openRoot func(*Dir) error) (*Dir, error) {
	powers, err := ownPowers()
	if err != nil {
		return nil, err
	}
	d := &Dir{uid: uid, gid: gid, powers: powers}
	if err := openRoot(d); err != nil {
		return nil, err
	}
	d.open, d.close = context.WithCancel(context.Background())
	return d, nil
}

func (d *Dir) openRoot(path string) (err error) {
	d.root, err = os.OpenRoot(path)
	return err
}

// Close lets go of the directory, and ends every watch.
func (d *Dir) Close() error {
	d.close()
	return d.root.Close()
}

// as runs do with the file system identity of the sandbox's user, and bounded. do must
// not start goroutines, and must not wait for the sandbox.
func (d *Dir) as(do func() error) error {
	return d.powers.bounded(func() error { return d.identified(&d.powers.fewer, do) })
}

// identified runs do with the identity of the sandbox's user, and without the capabilities over others' files. The kernel takes these from root
// by itself, and not from another user. The thread has the set had, and gets it back.
func (d *Dir) identified(had *[2]unix.CapUserData, do func() error) error {
	runtime.LockOSThread()
	defer func() {
		// A thread that is not its old self stays locked, and ends with its goroutine.
		if errors.Join(d.powers.give(had), setFS("uid", unix.SetfsuidRetUid, os.Geteuid()), setFS("gid", unix.SetfsgidRetGid, os.Getegid())) == nil {
			runtime.UnlockOSThread()
		}
	}()
	// The group first: without root's identity it could not be changed.
	if err := errors.Join(setFS("gid", unix.SetfsgidRetGid, d.gid), setFS("uid", unix.SetfsuidRetUid, d.uid), d.powers.give(&d.powers.none)); err != nil {
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
