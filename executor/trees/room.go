package trees

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// kept is a tree on the disk.
type kept struct {
	digest string
	bytes  int64
	used   time.Time
}

// makeRoom removes unused trees until the rest is within the limit. It spares the newest one, whose maker is about to use it.
func (s *Store) makeRoom(made string) error {
	list, total, err := s.list()
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b kept) int { return a.used.Compare(b.used) })
	for _, k := range list {
		if total <= s.limit {
			break
		}
		if k.digest == made {
			continue
		}
		removed, err := s.remove(k.digest)
		if err != nil {
			return err
		}
		if removed {
			total -= k.bytes
		}
	}
	return nil
}

// Taken returns how much disk the trees take, and how much they may.
func (s *Store) Taken() (bytes, limit int64, err error) {
	_, bytes, err = s.list()
	return bytes, s.limit, err
}

// list returns the trees and the sum of their sizes.
func (s *Store) list() (list []kept, total int64, _ error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("listing the trees: %w", err)
	}
	for _, entry := range entries {
		if checkDigest(entry.Name()) != nil {
			continue
		}
		k := kept{digest: entry.Name()}
		path := filepath.Join(s.dir, k.digest, metaFile)
		if info, err := os.Stat(path); err == nil {
			k.used = info.ModTime()
		}
		var m meta
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &m) == nil {
			k.bytes = m.Bytes
		}
		total += k.bytes
		list = append(list, k)
	}
	return list, total, nil
}

// remove removes a tree unless it is in use.
func (s *Store) remove(digest string) (bool, error) {
	path := filepath.Join(s.dir, digest)
	lock, err := os.OpenFile(filepath.Join(path, metaFile), os.O_RDWR, 0)
	if err == nil {
		defer lock.Close()
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return false, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("removing a tree: %w", err)
	}
	old := filepath.Join(s.dir, oldPrefix+rand.Text())
	if err := os.Rename(path, old); err != nil {
		return false, fmt.Errorf("removing a tree: %w", err)
	}
	if err := os.RemoveAll(old); err != nil {
		return false, fmt.Errorf("removing a tree: %w", err)
	}
	return true, nil
}
