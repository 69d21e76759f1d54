package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/inotify"
)

const (
	watched = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_DELETE_SELF | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK
	// watchPause lets changes gather: a program that writes byte by byte makes one event, and costs the host no more than another.
	watchPause = 20 * time.Millisecond
)

// MaxDirs is how many directories all watches of an executor take in together: one third of the watches that the kernel has for a
// user by default on a host of 24 GiB, of which sandboxes have the rest.
const MaxDirs = 65536

// Watch calls ready once it watches, and then each with every change in the directory at name, and below it if deep, until ctx
// is done, the directory is removed or each returns an error. It returns nil when no directory is left to watch. It leaves out
// the files that [Dir.Write] fills before it gives them their names. All watches of an executor share one instance of inotify, of which the
// host has few. While each is busy, a bounded number of changes waits for it; more than that are told of as lost.
func (d *Dir) Watch(ctx context.Context, shared *inotify.Shared, name string, deep bool, ready func(), each func(yurt.FileEvent) error) error {
	name, err := yurt.CleanWorkspaceDir("path", name)
	if err != nil {
		return err
	}
	subscription, err := shared.Subscribe()
	if err != nil {
		return yurt.Errorf(yurt.CodeOverloaded, "the node cannot watch files now: %w; end another watch, or raise fs.inotify.max_user_instances of the host", err)
	}
	defer subscription.Close()
	w := &watch{
		Dir: d, subscription: subscription, top: name, deep: deep,
		paths: map[int32]string{},
		each: func(e yurt.FileEvent) error {
			if isTemporary(e.Path) {
				return nil
			}
			return each(e)
		},
	}
	if err := w.add(ctx, name, false); err != nil {
		return err
	}
	ready()
	return w.follow(ctx)
}

// watch is one watch. One goroutine uses it.
type watch struct {
	*Dir
	subscription *inotify.Subscription
	top          string
	deep         bool
	paths        map[int32]string // by the kernel's number
	each         func(yurt.FileEvent) error
	ended        bool // top is gone
}

// add watches the directory at name, and below it. In a new directory it tells of the present entries, since they were made
// before the watch.
func (w *watch) add(ctx context.Context, name string, tell bool) error {
	dir, err := w.openTop(name)
	if err != nil {
		return explain(valid(name), err)
	}
	defer dir.Close()
	if err := w.addDir(dir, name); err != nil || !w.deep {
		return err
	}
	return w.walk(ctx, dir, name, func(e entry) error {
		if tell {
			if err := w.each(yurt.FileEvent{Type: yurt.FileCreated, Path: e.info.Path, IsDir: e.info.IsDir}); err != nil {
				return err
			}
		}
		if !e.info.IsDir {
			return nil
		}
		var sub *os.File
		err := w.as(func() (err error) { sub, err = openDir(e.in, e.name); return err })
		if err != nil {
			return nil //nolint:nilerr // the entry has changed or is gone
		}
		defer sub.Close()
		return w.addDir(sub, e.path)
	})
}

// addDir watches one directory, by its descriptor: its name may lead elsewhere by now.
func (w *watch) addDir(dir *os.File, name string) error {
	if len(w.paths) >= yurt.MaxWatchDirs {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "path", "there are more than %d directories in %s; watch a part of them, or one alone", yurt.MaxWatchDirs, w.top)
	}
	return w.as(func() error {
		number, err := w.subscription.Add(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), watched)
		switch {
		case errors.Is(err, inotify.ErrFull):
			return yurt.Errorf(yurt.CodeOverloaded, "all watches of this node take in %d directories, and no more may be; end another watch, or watch fewer directories", MaxDirs)
		case errors.Is(err, unix.ENOSPC):
			return yurt.Errorf(yurt.CodeOverloaded, "the node cannot watch more directories now; end another watch, or raise fs.inotify.max_user_watches of the host")
		case err != nil:
			return explain(valid(name), err)
		}
		w.paths[number] = name
		return nil
	})
}

// follow tells of the changes.
func (w *watch) follow(ctx context.Context) error {
	for !w.ended {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.open.Done():
			return nil // the sandbox ends, and the watch with it
		case <-w.subscription.Wake():
		}
		events, lost := w.subscription.Take()
		if err := w.tell(ctx, events); err != nil {
			return err
		}
		if lost {
			if err := w.each(yurt.FileEvent{Type: yurt.FileEventLost, Path: w.top, IsDir: true}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchPause):
		}
	}
	return nil
}

// tell hands on events that came together, each that is the same as another once.
func (w *watch) tell(ctx context.Context, events []inotify.Event) error {
	told := map[yurt.FileEvent]bool{}
	for _, e := range events {
		event, ok := w.event(e.Watch, e.Mask, e.Name)
		if ok && !told[event] {
			if told[event] = event.Type == yurt.FileWritten || event.Type == yurt.FileChmod; !told[event] {
				clear(told) // later events of the same name are about another file
			}
			if err := w.each(event); err != nil {
				return err
			}
		}
		if err := w.moved(ctx, e.Watch, e.Mask, e.Name); err != nil {
			return err
		}
	}
	return nil
}

// event translates an event of the kernel's, if it is for the caller.
func (w *watch) event(number int32, mask uint32, name string) (yurt.FileEvent, bool) {
	dir, ok := w.paths[number]
	event := yurt.FileEvent{Path: valid(path.Join(dir, name)), IsDir: mask&unix.IN_ISDIR != 0}
	switch {
	case !ok:
		return event, false // of a directory that was left before
	case mask&unix.IN_DELETE_SELF != 0:
		// The directory above tells of it, unless it is not watched.
		event.Type, event.IsDir = yurt.FileRemoved, true
		return event, dir == w.top
	case name == "":
		return event, false
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		event.Type = yurt.FileCreated
	case mask&unix.IN_DELETE != 0:
		event.Type = yurt.FileRemoved
	case mask&unix.IN_MOVED_FROM != 0:
		event.Type = yurt.FileRenamed
	case mask&unix.IN_MODIFY != 0:
		event.Type = yurt.FileWritten
	case mask&unix.IN_ATTRIB != 0:
		event.Type = yurt.FileChmod
	default:
		return event, false
	}
	return event, true
}

// moved keeps the directories that are watched those below the top.
func (w *watch) moved(ctx context.Context, number int32, mask uint32, name string) error {
	dir, ok := w.paths[number]
	if !ok {
		return nil
	}
	if mask&unix.IN_IGNORED != 0 {
		delete(w.paths, number)
		w.ended = w.ended || dir == w.top
		return nil
	}
	if !w.deep || mask&unix.IN_ISDIR == 0 {
		return nil
	}
	at := path.Join(dir, name)
	switch {
	case mask&unix.IN_MOVED_FROM != 0:
		w.leave(at)
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		err := w.add(ctx, at, true)
		switch yurt.CodeOf(err) {
		case yurt.CodeLimitOutOfRange:
			return w.each(yurt.FileEvent{Type: yurt.FileEventLost, Path: valid(at), IsDir: true})
		case yurt.CodeFileNotFound, yurt.CodeNotAFile, yurt.CodeInvalidPath, yurt.CodePathOutsideWorkspace:
			return nil // the entry has changed or is gone
		default:
			return err
		}
	}
	return nil
}

// leave ends the watch of a directory that was moved away, and of those below it.
func (w *watch) leave(name string) {
	for number, at := range w.paths {
		if at == name || strings.HasPrefix(at, name+"/") {
			w.subscription.Remove(number)
			delete(w.paths, number)
		}
	}
}
