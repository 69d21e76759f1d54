package trees

import (
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
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Dir is the directory of a tree's files, in the directory that is named by the tree's digest.
const Dir = "tree"

// metaFile is beside it. The users of the tree lock it, and its time is that of the last use.
const metaFile = "layer.json"

// A tree that is being made, or removed, has another name.
const (
	newPrefix = "new-"
	oldPrefix = "old-"
)

// abandonedAge is how old something half made is, at the least, before it may be taken for
// abandoned: it is locked a moment after it was made.
const abandonedAge = time.Minute

// The versions of the file. A tree of another version is not used: programs that know the first one alone find no facts in the file.
const (
	plainVersion = 1
	factsVersion = 2
)

// maxMeta bounds the file, in bytes.
const maxMeta = 2 << 20

// meta is the file beside a tree.
type meta struct {
	Version int             `json:"version"`
	Bytes   int64           `json:"bytes"`
	Entries int             `json:"entries"`
	MadeAt  time.Time       `json:"made_at"`
	Facts   json.RawMessage `json:"facts,omitempty"`
}

// readMeta reads the file; ok is false for one of no known version.
func readMeta(file io.Reader) (m meta, ok bool) {
	data, err := io.ReadAll(io.LimitReader(file, maxMeta))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err == nil && (m.Version == plainVersion || m.Version == factsVersion)
}

// Store is a directory of trees. Its methods may be called concurrently.
type Store struct {
	dir   string
	limit int64 // of the bytes of all trees together

	mu   sync.Mutex
	held map[string]*holding // by digest
}

// holding is a tree that this process uses, for so many users.
type holding struct {
	lock  *os.File
	users map[string]struct{}
}

// Open returns the store in dir, an absolute path, which is made with its first tree.
func Open(dir string, limit int64) (*Store, error) {
	s := &Store{dir: dir, limit: limit, held: make(map[string]*holding)}
	return s, s.removeRemains()
}

// Close gives back every tree that this process uses.
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

// removeRemains removes the files of a process that was killed while it made or removed a tree. A process that is at
// work holds a lock on its files.
func (s *Store) removeRemains() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the directory of trees: %w", err)
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
					return fmt.Errorf("removing the remains of a tree: %w", err)
				}
			}
		}
	}
	return nil
}

// Tree returns where the files of a tree are.
func (s *Store) Tree(digest string) string { return Tree(s.dir, digest) }

// Tree returns where the files of a tree are in the directory of a store.
func Tree(dir, digest string) string { return filepath.Join(dir, digest, Dir) }

// olderFacts is the file that earlier versions kept the facts of images in, beside the tree.
const olderFacts = "image.json"

// Facts reads the facts of a tree that is in use.
func (s *Store) Facts(digest string, facts any) error {
	file, err := os.Open(filepath.Join(s.dir, digest, metaFile))
	if err != nil {
		return fmt.Errorf("reading the facts of a tree: %w", err)
	}
	defer file.Close()
	m, _ := readMeta(file)
	if m.Facts == nil {
		if m.Facts, err = os.ReadFile(filepath.Join(s.dir, digest, olderFacts)); err != nil {
			return fmt.Errorf("reading the facts of a tree: %w", err)
		}
	}
	if err := json.Unmarshal(m.Facts, facts); err != nil {
		return fmt.Errorf("reading the facts of a tree: %w", err)
	}
	return nil
}

// Use returns whether there is the tree, and keeps it for the user until [Store.Release].
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

// lock locks a tree for use; nil means that it does not exist.
func (s *Store) lock(digest string) (*os.File, error) {
	path := filepath.Join(s.dir, digest, metaFile)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("using a tree: %w", err)
	}
	if _, ok := readMeta(file); !ok {
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
		return false, fmt.Errorf("using a tree: %w", err)
	}
	open, err := file.Stat()
	if err != nil {
		return false, fmt.Errorf("using a tree: %w", err)
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

// Made describes a new tree.
type Made struct {
	Bytes   int64
	Entries int
	Facts   any // for [Store.Facts]; nil for a tree without facts
}

// meta returns the file for it.
func (m Made) meta() (meta, error) {
	out := meta{Version: plainVersion, Bytes: m.Bytes, Entries: m.Entries, MadeAt: time.Now()}
	if m.Facts == nil {
		return out, nil
	}
	out.Version = factsVersion
	var err error
	out.Facts, err = json.Marshal(m.Facts)
	if err == nil && len(out.Facts) > maxFacts {
		err = yurt.Errorf(yurt.CodeLimitOutOfRange, "the facts of a tree have %d bytes; at most %d are kept", len(out.Facts), maxFacts)
	}
	return out, err
}

// maxFacts bounds the facts, in bytes: they fit into the file.
const maxFacts = maxMeta - 4<<10

// Make makes a tree of the files that fill puts into the directory "tree" in dir, unless there is one, and then makes room. Fill leaves no other
// file in dir.
func (s *Store) Make(digest string, fill func(dir string) (Made, error)) (err error) {
	if err := checkDigest(digest); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o711); err != nil {
		return fmt.Errorf("making the directory of trees: %w", err)
	}
	path := filepath.Join(s.dir, newPrefix+rand.Text())
	if err := os.MkdirAll(filepath.Join(path, Dir), 0o755); err != nil {
		return fmt.Errorf("making a tree: %w", err)
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
	m, err := made.meta()
	if err != nil {
		return fmt.Errorf("making a tree: %w", err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("making a tree: %w", err)
	}
	if err := os.WriteFile(filepath.Join(path, metaFile), data, 0o600); err != nil {
		return fmt.Errorf("making a tree: %w", err)
	}
	if err := unix.Syncfs(int(lock.Fd())); err != nil {
		return fmt.Errorf("making a tree: %w", err)
	}
	if err := s.place(path, digest); err != nil {
		return err
	}
	return s.makeRoom(digest)
}

// IsNew reports whether the directory of a tree that is being made can have the name.
func IsNew(name string) bool {
	odd := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	random, ok := strings.CutPrefix(name, newPrefix)
	return ok && random != "" && len(random) <= 64 && !strings.ContainsFunc(random, odd)
}

// OpenNew opens the tree of a tree that is being made in the directory of a store, by the name of its directory there, and follows no link.
// The caller closes it.
func OpenNew(dir, name string) (*os.File, error) {
	if !IsNew(name) {
		return nil, yurt.Errorf(yurt.CodeInvalidArgument, "%.100q is no tree that is being made; give the name of its directory in the store", name)
	}
	tree, err := openTree(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("opening a tree that is being made: %w", err)
	}
	return os.NewFile(uintptr(tree), Dir), nil
}

// openTree opens a tree in the directory of a store and follows no link there: the store's owner may have less power than this process. The
// caller closes the descriptor.
func openTree(dir, name string, flags uint64) (int, error) {
	store, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(store)
	return openat.At(store, name+"/"+Dir, &unix.OpenHow{
		Flags: flags | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV,
	})
}

// place gives a tree that was made its name, unless there is one that can be used.
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
		return fmt.Errorf("making a tree: %w", err)
	}
	return nil
}

func checkDigest(digest string) error {
	odd := func(r rune) bool { return (r < 'a' || r > 'f') && (r < '0' || r > '9') }
	if len(digest) != 64 || strings.ContainsFunc(digest, odd) {
		return yurt.Errorf(yurt.CodeInternal, "%.80q is not the digest of a tree", digest)
	}
	return nil
}

// lockDir locks a directory at once, or fails.
func lockDir(path string, how int) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("locking a tree: %w", err)
	}
	if err := unix.Flock(int(dir.Fd()), how|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking a tree: %w", err), dir.Close())
	}
	return dir, nil
}
