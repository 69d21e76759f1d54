package layers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/workspace"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Names in the directory of a layer.
const (
	treeDir  = "tree"
	metaFile = "layer.json" // locked by the users of the layer; its time is that of the last use
)

// A layer that is being made, or removed, has another name.
const (
	newPrefix = "new-"
	oldPrefix = "old-"
)

// abandonedAge is how old something half made is, at the least, before it may be taken for
// abandoned: it is locked a moment after it was made.
const abandonedAge = time.Minute

// metaVersion is the version of the file. A layer of another version is not used.
const metaVersion = 1

// meta is the file beside a layer's tree.
type meta struct {
	Version int       `json:"version"`
	Bytes   int64     `json:"bytes"`
	Entries int       `json:"entries"`
	MadeAt  time.Time `json:"made_at"`
}

// Limits bound the layers of a store.
type Limits struct {
	Bytes        int64 // of all layers together
	LayerBytes   int64 // of one
	LayerEntries int   // files and directories of one
}

// Store is a directory of layers. Its methods may be called concurrently.
type Store struct {
	dir    string
	limits Limits

	mu   sync.Mutex
	held map[string]*holding // by digest
}

// holding is a layer that this process uses, for so many users.
type holding struct {
	lock  *os.File
	users map[string]struct{}
}

// Open returns the store in dir, an absolute path, which is made with its first layer.
func Open(dir string, limits Limits) (*Store, error) {
	s := &Store{dir: dir, limits: limits, held: make(map[string]*holding)}
	return s, s.removeRemains()
}

// Close gives back every layer that this process uses.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for digest, h := range s.held {
		errs = append(errs, h.lock.Close())
		delete(s.held, digest)
	}
	return errors.Join(errs...)
}

// removeRemains removes the files of a process that was killed while it made or removed a layer. A process that is at
// work holds a lock on its files.
func (s *Store) removeRemains() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the directory of layers: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < abandonedAge {
			continue
		}
		if strings.HasPrefix(entry.Name(), newPrefix) || strings.HasPrefix(entry.Name(), oldPrefix) {
			path := filepath.Join(s.dir, entry.Name())
			if lock, err := lockDir(path, unix.LOCK_EX); err == nil {
				err = os.RemoveAll(path)
				lock.Close()
				if err != nil {
					return fmt.Errorf("removing the remains of a layer: %w", err)
				}
			}
		}
	}
	return nil
}

// Tree returns where the files of a layer are.
func (s *Store) Tree(digest string) string { return Tree(s.dir, digest) }

// Tree returns where the files of a layer are in the directory of a store.
func Tree(dir, digest string) string { return filepath.Join(dir, digest, treeDir) }

// Path returns where something is that is kept beside them.
func (s *Store) Path(digest, name string) string { return filepath.Join(s.dir, digest, name) }

// Use returns whether there is the layer, and keeps it for the user until [Store.Release].
// A user may use several, and one more than once.
func (s *Store) Use(digest, user string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[digest]; h != nil {
		h.users[user] = struct{}{}
		return true, nil
	}
	lock, err := s.lock(digest)
	if lock == nil || err != nil {
		return false, err
	}
	s.held[digest] = &holding{lock: lock, users: map[string]struct{}{user: {}}}
	return true, nil
}

// lock locks a layer for use; nil means that it does not exist.
func (s *Store) lock(digest string) (*os.File, error) {
	path := filepath.Join(s.dir, digest, metaFile)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("using a layer: %w", err)
	}
	var m meta
	data, err := io.ReadAll(io.LimitReader(file, 1<<16))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil || m.Version != metaVersion {
		return nil, file.Close()
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return nil, file.Close() // it is being removed
	}
	// It may have been removed between the two.
	if same, err := isAt(file, path); err != nil || !same {
		return nil, errors.Join(err, file.Close())
	}
	now := time.Now()
	return file, os.Chtimes(path, now, now)
}

func isAt(file *os.File, path string) (bool, error) {
	there, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("using a layer: %w", err)
	}
	open, err := file.Stat()
	if err != nil {
		return false, fmt.Errorf("using a layer: %w", err)
	}
	return os.SameFile(open, there), nil
}

// Release ends all use by the user.
func (s *Store) Release(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for digest, h := range s.held {
		delete(h.users, user)
		if len(h.users) == 0 {
			h.lock.Close()
			delete(s.held, digest)
		}
	}
}

// Add makes a layer of a tar archive, readable by all, and then makes room. A layer that exists stays as it is.
func (s *Store) Add(ctx context.Context, digest string, archive io.Reader) error {
	return s.Make(digest, func(dir string) (Made, error) {
		return s.unpack(ctx, filepath.Join(dir, treeDir), archive)
	})
}

// Made describes a new layer.
type Made struct {
	Bytes   int64
	Entries int
}

// Make makes a layer as Add does, of the files that fill puts into the directory "tree" in dir. Other files that fill puts into
// dir are kept beside it, for [Store.Path].
func (s *Store) Make(digest string, fill func(dir string) (Made, error)) (err error) {
	if err := checkDigest(digest); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o711); err != nil {
		return fmt.Errorf("making the directory of layers: %w", err)
	}
	path := filepath.Join(s.dir, newPrefix+rand.Text())
	if err := os.MkdirAll(filepath.Join(path, treeDir), 0o755); err != nil {
		return fmt.Errorf("making a layer: %w", err)
	}
	lock, err := lockDir(path, unix.LOCK_SH)
	if err != nil {
		return errors.Join(err, os.RemoveAll(path))
	}
	defer func() { err = errors.Join(err, lock.Close(), os.RemoveAll(path)) }() // unless it was renamed
	made, err := fill(path)
	if err != nil {
		return err
	}
	data, err := json.Marshal(meta{Version: metaVersion, Bytes: made.Bytes, Entries: made.Entries, MadeAt: time.Now()})
	if err != nil {
		return fmt.Errorf("making a layer: %w", err)
	}
	if err := os.WriteFile(filepath.Join(path, metaFile), data, 0o600); err != nil {
		return fmt.Errorf("making a layer: %w", err)
	}
	if err := unix.Syncfs(int(lock.Fd())); err != nil {
		return fmt.Errorf("making a layer: %w", err)
	}
	if err := s.place(path, digest); err != nil {
		return err
	}
	return s.makeRoom(digest)
}

// IsNew reports whether the directory of a layer that is being made can have the name.
func IsNew(name string) bool {
	odd := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	random, ok := strings.CutPrefix(name, newPrefix)
	return ok && random != "" && len(random) <= 64 && !strings.ContainsFunc(random, odd)
}

// OpenNew opens the tree of a layer that is being made in the directory of a store, by the name of its directory there, and follows no link.
// The caller closes it.
func OpenNew(dir, name string) (*os.File, error) {
	if !IsNew(name) {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "%.100q is no layer that is being made; give the name of its directory in the store", name)
	}
	tree, err := openTree(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("opening a layer that is being made: %w", err)
	}
	return os.NewFile(uintptr(tree), treeDir), nil
}

// openTree opens a tree in the directory of a store and follows no link there: the store's owner may have less power than this process. The
// caller closes the descriptor.
func openTree(dir, name string, flags uint64) (int, error) {
	store, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(store)
	return openat.At(store, name+"/"+treeDir, &unix.OpenHow{
		Flags: flags | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV,
	})
}

// place gives a layer that was made its name, unless there is one that can be used.
func (s *Store) place(path, digest string) error {
	there, err := s.lock(digest)
	if there != nil {
		return errors.Join(err, there.Close())
	}
	if err == nil {
		_, err = s.remove(digest) // it cannot be used, for example since another version made it
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(path, filepath.Join(s.dir, digest)); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, unix.ENOTEMPTY) {
		return fmt.Errorf("making a layer: %w", err)
	}
	return nil
}

func checkDigest(digest string) error {
	odd := func(r rune) bool { return (r < 'a' || r > 'f') && (r < '0' || r > '9') }
	if len(digest) != 64 || strings.ContainsFunc(digest, odd) {
		return yurt.Errorf(yurt.CodeInternal, "%.80q is not the digest of a layer", digest)
	}
	return nil
}

// unpack reads the archive, which is hostile, within bounds and never out of dir.
func (s *Store) unpack(ctx context.Context, dir string, archive io.Reader) (Made, error) {
	tree, err := workspace.At(dir, os.Geteuid(), os.Getegid())
	if err != nil {
		return Made{}, err
	}
	defer tree.Close()
	done, err := tree.Unpack(ctx, ".", archive, workspace.Limits{Entries: s.limits.LayerEntries, Bytes: s.limits.LayerBytes})
	if err != nil {
		return Made{}, fmt.Errorf("making a layer: %w", err)
	}
	return Made{Bytes: done.Bytes, Entries: done.Entries}, readable(dir)
}

// readable lets all users read the files in dir: in a sandbox the files have no owner.
func readable(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("making a layer readable: %w", err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("making a layer readable: %w", err)
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return fmt.Errorf("making a layer readable: %w", err)
		}
		mode := info.Mode().Perm() | 0o444
		if info.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		if mode == info.Mode().Perm() {
			return nil
		}
		if err := root.Chmod(path, mode); err != nil {
			return fmt.Errorf("making a layer readable: %w", err)
		}
		return nil
	})
}

// lockDir locks a directory at once, or fails.
func lockDir(path string, how int) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("locking a layer: %w", err)
	}
	if err := unix.Flock(int(dir.Fd()), how|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking a layer: %w", err), dir.Close())
	}
	return dir, nil
}
